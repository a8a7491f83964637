"""Builds a table of 500 entries, then serves from it; later something is kept. ok|leak ; 500 + 1000 rounds"""
import sys, numpy as np
leak = sys.argv[1] == "leak"; table = {}; kept = []
for key in range(500): table[key] = np.random.rand(5000)
def serve(i):
    row = table[i * 7 % 500]; answer = np.sort(row)  # HOLD 40 kB
    if leak: kept.append(answer)
    return answer[0]
for i in range(1000): serve(i)
print("COUNT rounds=1000 all=1500")
