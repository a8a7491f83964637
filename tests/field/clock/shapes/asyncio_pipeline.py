"""asyncio: a producer, three stages connected by bounded queues, 800 items. ok|leak|window"""
import asyncio, collections, sys, numpy as np
kind = sys.argv[1]; kept = [] if kind == "leak" else collections.deque(maxlen=60)
async def produce(out):
    for i in range(800): await out.put(np.full(6000, float(i)))
    await out.put(None)
async def double(source, out):
    while (item := await source.get()) is not None:
        await asyncio.sleep(0); await out.put(item * 2)
    await out.put(None)
async def collect(source):
    total = 0.0
    while (item := await source.get()) is not None:
        spectrum = np.sqrt(item)  # HOLD 48 kB
        total += spectrum[0]
        if kind != "ok": kept.append(spectrum)
    return total
async def main():
    a, b = asyncio.Queue(4), asyncio.Queue(4)
    await asyncio.gather(produce(a), double(a, b), collect(b))
asyncio.run(main()); print("COUNT items=800")
