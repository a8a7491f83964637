"""A long start: dictionaries and an index are built for seconds; then 300 queries, whose answers stay or not. ok|leak"""
import random
import sys

kind = sys.argv[1]
random.seed(0)
words = ["".join(random.choices("abcdefgh", k=6)) for _ in range(60000)]
index = {}
for number, word in enumerate(words):
    for length in range(2, 6):
        index.setdefault(word[:length], []).append(number)
ranks = {w: sum(map(ord, w)) for w in words}
answered = []


def query(prefix):
    hits = [(ranks[words[n]], words[n], n) for n in index.get(prefix, ())]  # HOLD
    hits.sort()
    return hits


size = 0
for number in range(300):
    hits = query("".join(random.choices("abcdefgh", k=2)))
    size += len(hits)
    if kind == "leak":
        answered.append(hits)
print("COUNT queries=300", size > 0)
