"""Small objects: an index of words that grows, or is cleared. ok|leak ; 6,000 documents"""
import sys, random
leak = sys.argv[1] == "leak"; random.seed(0); index = {}
def words(i): return ["%x" % random.getrandbits(48) for _ in range(40)]  # HOLD
for i in range(6000):
    for w in words(i): index.setdefault(w, []).append(i)  # HOLD
    if not leak and i % 50 == 49: index.clear()
print("COUNT rounds=6000")
