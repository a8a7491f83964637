"""pandas: a table read in 300 chunks, grouped and joined; keeps each chunk's groups, or their running sum. ok|leak|sum"""
import io, sys, numpy as np, pandas as pd
kind = sys.argv[1]; kept = []; total = None; rows = 300 * 400; random = np.random.default_rng(5)
text = pd.DataFrame({"key": random.integers(0, 200, rows), "name": ["n%d" % (i % 997) for i in range(rows)], "v": random.random(rows)}).to_csv(index=False)
names = pd.DataFrame({"name": ["n%d" % i for i in range(997)], "w": random.random(997)})
for chunk in pd.read_csv(io.StringIO(text), chunksize=400):
    joined = chunk.merge(names, on="name")
    wide = pd.concat([joined] * 4, ignore_index=True)  # HOLD
    part = wide.assign(z=wide.v * wide.w)  # HOLD
    if kind == "leak": kept.append(part)
    if kind == "sum": total = part.groupby("key").z.sum().add(0 if total is None else total, fill_value=0)
print("COUNT chunks=300")
