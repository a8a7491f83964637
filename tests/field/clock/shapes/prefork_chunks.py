"""Prefork with a restart: two children serve 150 jobs, die and are replaced, three times. ok|leak"""
import os, struct, sys, numpy as np
leak = sys.argv[1] == "leak"; kept = []
def handle(i):
    x = np.random.rand(7000); y = np.sort(x)  # HOLD 56 kB
    if leak: kept.append(y)
    return float(y[0])
def child(fd):
    with os.fdopen(fd, "rb") as jobs:
        while len(job := jobs.read(4)) == 4: handle(struct.unpack("i", job)[0])
for generation in range(3):
    workers = []
    for _ in range(2):
        r, w = os.pipe(); pid = os.fork()
        if pid == 0:
            os.close(w); [os.close(f) for _, f in workers]; child(r); sys.exit(0)
        os.close(r); workers.append((pid, w))
    for i in range(300): os.write(workers[i % 2][1], struct.pack("i", i))
    for pid, w in workers: os.close(w)
    for pid, w in workers: os.waitpid(pid, 0)
print("COUNT jobs=900 each=150")
