"""pandas drives: DataFrame.apply over 900 rows, with a function that remembers the row's series, or not. ok|leak"""
import sys
import numpy as np
import pandas as pd

kind = sys.argv[1]
remembered = []


def smooth(row):
    series = np.convolve(np.full(2500, row.a), np.ones(9) / 9, mode="same")  # HOLD 20 kB
    if kind == "leak":
        remembered.append(series)
    return float(series.sum() + row.b)


table = pd.DataFrame({"a": np.random.rand(900), "b": np.random.rand(900)})
table["score"] = table.apply(smooth, axis=1)
table["length"] = list(map(lambda s: len(str(s)), table.score))
print("COUNT rows=900")
