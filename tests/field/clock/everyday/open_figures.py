"""matplotlib: a figure for each of 70 results, drawn to bytes; figures stay open, or are closed. ok|leak"""
import io
import sys
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

kind = sys.argv[1]
plt.rcParams["figure.max_open_warning"] = 0
for number in range(70):
    figure, axes = plt.subplots(figsize=(3, 2))  # HOLD
    axes.plot(np.random.rand(500))  # HOLD
    stream = io.BytesIO()
    figure.savefig(stream, format="png")  # HOLD
    if kind == "ok":
        plt.close(figure)
print("COUNT figures=70")
