"""A daemon that polls: bursts of 20 to 60 jobs, pauses of a tenth of a second between them. ok|leak ; 20 bursts"""
import random, sys, time, numpy as np
leak = sys.argv[1] == "leak"; random.seed(5); done = []; jobs = 0
def work(n):
    image = np.random.rand(60, 90); return np.fft.rfft(image)  # HOLD 44 kB
for burst in range(20):
    for n in range(random.randint(20, 60)):
        answer = work(n); jobs += 1
        if leak: done.append(answer)
    time.sleep(0.1)
print("COUNT jobs=%d bursts=20" % jobs)
