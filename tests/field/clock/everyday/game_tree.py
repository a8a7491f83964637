"""Recursion with generators: a tree of moves for each of 200 positions, walked and dropped, kept, or the last 8. ok|leak|last"""
import collections
import random
import sys

kind = sys.argv[1]
random.seed(3)
trees = collections.deque(maxlen=8 if kind == "last" else None)


class Node:
    def __init__(self, move, depth):
        self.move = move
        self.value = 0.0
        self.children = [Node(m, depth - 1) for m in moves(move, depth)]  # HOLD


def moves(move, depth):
    if depth > 0:
        for k in range(4):
            yield (move * 5 + k) % 97 + random.random()


def leaves(node):
    if not node.children:
        yield node
    for child in node.children:
        yield from leaves(child)


best = 0.0
for position in range(200):
    root = Node(position, 4)
    for leaf in leaves(root):
        leaf.value = leaf.move * 0.5
        best = max(best, leaf.value)
    if kind != "ok":
        trees.append(root)
print("COUNT positions=200")
