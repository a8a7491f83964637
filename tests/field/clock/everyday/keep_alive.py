"""asyncio: an HTTP server whose five clients keep their connections, 120 requests each; answers stay by address, the last 50, or
not at all. ok|leak|last"""
import asyncio
import collections
import hashlib
import sys

kind = sys.argv[1]
answers = collections.OrderedDict()


def render(address):
    seed = hashlib.sha256(address).hexdigest()
    return ("<p>%s</p>" % seed * 300).encode()  # HOLD 21 kB


async def serve(reader, writer):
    while True:
        line = await reader.readline()
        if not line:
            break
        while (await reader.readline()).strip():
            pass
        address = line.split()[1]
        body = answers.get(address)
        if body is None:
            body = render(address)
            if kind != "ok":
                answers[address] = body
            if kind == "last" and len(answers) > 50:
                answers.popitem(last=False)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
    writer.close()


async def client(port, name):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for i in range(120):
        writer.write(b"GET /%d/%d HTTP/1.1\r\nHost: here\r\n\r\n" % (name, i))
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.split(b":")[1]))
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(client(port, n) for n in range(5)))
    server.close()


asyncio.run(main())
print("COUNT requests=600 each=120")
