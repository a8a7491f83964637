"""A simulation of events with heapq and small objects; keeps a record of each collision, or the last 2,000. ok|leak|last"""
import collections, heapq, random, sys
kind = sys.argv[1]; random.seed(3); records = collections.deque(maxlen=2000) if kind == "last" else []
class Particle:
    def __init__(self, name): self.name, self.x, self.v, self.hits = name, random.random(), random.random(), 0
particles = [Particle("p%d" % i) for i in range(500)]; events = [(random.random(), i) for i in range(500)]; heapq.heapify(events)
count = 0
while count < 60_000:
    time, i = heapq.heappop(events); p = particles[i]; p.hits += 1; p.x += p.v * 0.01; count += 1
    record = {"time": time, "who": p.name, "where": (p.x, p.v), "text": "%s at %.6f" % (p.name, time)}  # HOLD
    if kind != "ok": records.append(record)
    heapq.heappush(events, (time + random.random(), i))
print("COUNT events=60000")
