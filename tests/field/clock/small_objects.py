"""small objects only: dicts and strings per round, 20,000 rounds. ok|leak"""
import sys
leak = sys.argv[1] == "leak"; kept = []
def parse(i): return {"id": i, "words": [("w%d" % (i + k)) for k in range(30)]}  # HOLD
for i in range(20000):
    r = parse(i)
    if leak: kept.append(r)
print("COUNT steps=20000")
