"""asyncio: 900 tasks of a few awaits, at most 8 at a time; finished ones stay in a list with their results, or not. ok|leak"""
import asyncio, sys, numpy as np
kind = sys.argv[1]; started = []
async def work(i, gate):
    async with gate:
        block = np.full(5000, float(i))
        await asyncio.sleep(0.001)
        return np.sqrt(block) + i  # HOLD 40 kB
async def main():
    gate = asyncio.Semaphore(8); running = set(); done = 0
    for i in range(900):
        task = asyncio.create_task(work(i, gate)); running.add(task)
        if kind == "leak": started.append(task)
        if len(running) >= 16:
            finished, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED); done += len(finished)
    done += len((await asyncio.wait(running))[0])
    print("COUNT tasks=%d" % done)
asyncio.run(main())
