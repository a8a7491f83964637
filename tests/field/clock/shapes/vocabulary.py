"""Counts words drawn from Zipf's law: new ones become rarer. words = bounded in the end; leak keeps every document. words|leak"""
import collections, random, sys
leak = sys.argv[1] == "leak"; random.seed(2); counts = collections.Counter(); documents = []
for d in range(1500):
    words = ["w%d" % int(random.paretovariate(0.9)) for _ in range(200)]  # HOLD
    words = [w[:5] for w in words]  # HOLD
    counts.update(words)
    if leak: documents.append(words)
print("COUNT documents=1500")
