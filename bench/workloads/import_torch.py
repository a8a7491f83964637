"""Only the import: a million allocations, two million distinct stacks."""
import time

from own_cost import print_own_cost

start = time.monotonic()
import torch  # noqa: E402,F401

print_own_cost(start)
