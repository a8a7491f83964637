"""prefork: three children serve jobs from a pipe each, 200 jobs a child. ok|leak"""
import os, sys, struct, numpy as np
leak = sys.argv[1] == "leak"; kept = []
def handle(i):
    x = np.ones(8000) * i; y = x + 1  # HOLD 64 kB
    if leak: kept.append(y)
    return float(y[0])
def child(fd):
    with os.fdopen(fd, "rb") as jobs:
        while len(job := jobs.read(4)) == 4: handle(struct.unpack("i", job)[0])
workers = []
for _ in range(3):
    r, w = os.pipe(); pid = os.fork()
    if pid == 0:
        os.close(w); [os.close(f) for _, f in workers]; child(r); sys.exit(0)
    os.close(r); workers.append((pid, w))
for i in range(600): os.write(workers[i % 3][1], struct.pack("i", i))
for pid, w in workers: os.close(w)
for pid, w in workers: os.waitpid(pid, 0)
print("COUNT jobs=600 each=200")
