"""A pipeline of generators: read, parse, group, score; the third keeps its groups. ok|leak ; 900 items in groups of 3"""
import itertools, sys
leak = sys.argv[1] == "leak"
def read():
    for i in range(900): yield bytes(20_000 + i % 7)
def parse(chunks):
    for chunk in chunks: yield bytearray(chunk)
def group(items):
    seen = []
    while batch := list(itertools.islice(items, 3)):
        joined = b"".join(batch)  # HOLD 60 kB
        if leak: seen.append(joined)
        yield joined
print("COUNT items=900 groups=%d" % sum(1 for joined in group(parse(read())) if len(joined) > 10))
