"""asyncio server, one client, 300 requests. ok|leak|lru"""
import sys, asyncio, functools, numpy as np
kind = sys.argv[1]; kept = []
@functools.lru_cache(maxsize=40)
def page(i): return np.full(8000, i)  # HOLD 64 kB, bounded
async def serve(reader, writer):
    i = int(await reader.readline()); x = page(i % 60) if kind == "lru" else np.ones(8000) * i
    y = x + 1  # HOLD 64 kB
    if kind == "leak": kept.append(y)
    writer.write(b"%d\n" % int(y[0])); await writer.drain(); writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0); port = server.sockets[0].getsockname()[1]
    for i in range(300):
        r, w = await asyncio.open_connection("127.0.0.1", port); w.write(b"%d\n" % i); await r.readline(); w.close()
    server.close()
asyncio.run(main()); print("COUNT requests=300")
