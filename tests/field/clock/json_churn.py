"""Parses and drops, or keeps every document. ok|leak ; 1,500 documents"""
import sys, json
leak = sys.argv[1] == "leak"; kept = []; text = json.dumps([{"id": i, "name": "n%d" % i, "v": [i] * 8} for i in range(120)])
def load():
    return json.loads(text)  # HOLD
for i in range(1500):
    d = load()
    if leak: kept.append(d)
print("COUNT rounds=1500")
