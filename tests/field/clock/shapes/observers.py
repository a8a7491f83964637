"""An event bus: each item subscribes a closure and forgets to unsubscribe. ok|leak ; 700 items"""
import sys, numpy as np
leak = sys.argv[1] == "leak"
class Bus:
    def __init__(self): self.listeners = []
    def subscribe(self, f): self.listeners.append(f); return lambda: self.listeners.remove(f)
bus = Bus()
class View:
    def __init__(self, i):
        self.pixels = np.full((60, 80), i, dtype=np.float64)  # HOLD 38 kB
        self.close = bus.subscribe(lambda event: self.pixels.sum())
for i in range(700):
    view = View(i); view.pixels += 1
    if not leak: view.close()
    if i % 100 == 0: [f("tick") for f in bus.listeners[-3:]]
del view; print("COUNT items=700")
