"""asyncio: 3 workers take 900 jobs from a queue, awaits inside. ok|leak"""
import sys, asyncio, numpy as np
leak = sys.argv[1] == "leak"; kept = []
async def handle(i):
    x = np.ones(5000) * i
    await asyncio.sleep(0)
    y = x + 1  # HOLD 40 kB
    if leak: kept.append(y)
    await asyncio.sleep(0)
    return float(y.sum())
async def worker(q):
    while True:
        i = await q.get()
        if i is None: return
        await handle(i)
async def main():
    q = asyncio.Queue()
    ws = [asyncio.create_task(worker(q)) for _ in range(3)]
    for i in range(900): await q.put(i)
    for _ in ws: await q.put(None)
    await asyncio.gather(*ws)
asyncio.run(main())
print("COUNT jobs=900")
