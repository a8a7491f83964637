"""Tables that stay, or not: `tables.py KIND`. pandas_views: slices of frames are kept, and keep the frames. pandas_summary: only sums are kept. arrow: ten
rows of each record batch are kept. arrow_released: they are copied out."""
import sys

import numpy as np

kind = sys.argv[1]
random = np.random.default_rng(0)
kept = []
if kind.startswith("pandas"):
    import pandas as pd

    def shard(number):
        return pd.DataFrame(random.standard_normal((4_000, 8)), columns=[f"c{i}" for i in range(8)])  # HERE

    for number in range(250):
        frame = shard(number)
        part = frame.iloc[:20]
        if kind == "pandas_views":
            kept.append(part)  # a view of twenty rows keeps the frame
        else:
            kept.append(float(part.sum().sum()))
else:
    import pyarrow as pa

    def batch(number):
        return pa.record_batch([pa.array(random.standard_normal(4_000)) for _ in range(8)], names=[f"c{i}" for i in range(8)])  # HERE

    for number in range(250):
        rows = batch(number)
        if kind == "arrow":
            kept.append(rows.slice(0, 10))
        else:
            kept.append(rows.slice(0, 10).to_pydict())
