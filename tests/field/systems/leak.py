"""Keeps a block in each of 150 steps, which are three passes over the data. With --until-killed it then prints its process and waits for the end."""
import os
import sys
import time

from plateau_trace import mark

kept = []


def keep():
    kept.append(bytearray(70001))  # THE LINE


for step in range(150):
    keep()
    mark.step()
    if step % 50 == 49:
        mark.epoch()
if "--until-killed" in sys.argv:
    print(os.getpid(), flush=True)
    time.sleep(600)
