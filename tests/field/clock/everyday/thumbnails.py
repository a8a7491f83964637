"""Pillow: four passes over 90 pictures in another order each time; thumbnails stay by name, by visit, or not. ok|leak|cache"""
import random
import sys
import numpy as np
from PIL import Image

kind = sys.argv[1]
random.seed(0)
kept = {}


def thumbnail(number):
    picture = Image.fromarray(np.full((240, 320, 3), number, dtype=np.uint8))
    return picture.resize((120, 90))  # HOLD 32 kB


visits = 0
for epoch in range(4):
    order = list(range(90))
    random.shuffle(order)
    for number in order:
        if kind == "cache" and number in kept:
            small = kept[number]
        else:
            small = thumbnail(number)
        if kind == "leak":
            kept[visits] = small
        if kind == "cache":
            kept[number] = small
        visits += 1
print("COUNT visits=360 epochs=4")
