"""pandas: features of each day of sales, joined with a calendar; keeps every day's table, the last 30, or none. ok|leak|month"""
import sys
import collections
import numpy as np
import pandas as pd

kind = sys.argv[1]
kept = collections.deque(maxlen=30 if kind == "month" else None)
rng = np.random.default_rng(1)
calendar = pd.DataFrame({"shop": np.arange(40), "region": np.arange(40) % 7})


def sales(day):
    return pd.DataFrame({"shop": rng.integers(0, 40, 3000), "value": rng.random(3000), "day": day})


def features(day):
    table = sales(day).merge(calendar, on="shop")
    wide = table.assign(share=table.value / table.groupby("region").value.transform("sum"))  # HOLD 140 kB
    return wide


total = 0.0
for day in range(365):
    today = features(day)
    total += float(today.share.mean())
    if kind != "ok":
        kept.append(today)
print("COUNT days=365", total > 0)
