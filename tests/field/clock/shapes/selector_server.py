"""One thread, selectors: four clients send 150 requests each over connections that stay. ok|leak|last"""
import collections, selectors, socket, sys, threading, numpy as np
kind = sys.argv[1]; history = [] if kind == "leak" else collections.deque(maxlen=25); served = 0
chooser = selectors.DefaultSelector(); listener = socket.create_server(("127.0.0.1", 0)); chooser.register(listener, selectors.EVENT_READ)
def client():
    with socket.create_connection(listener.getsockname()) as s:
        for i in range(150): s.sendall(b"%d\n" % i); s.recv(64)
def answer(line):
    page = np.arange(6000.0) * int(line)
    spectrum = np.sqrt(page)  # HOLD 48 kB
    if kind != "ok": history.append(spectrum)
    return b"%d\n" % int(spectrum.sum())
clients = [threading.Thread(target=client) for _ in range(4)]
for c in clients: c.start()
while served < 600:
    for key, _ in chooser.select():
        if key.fileobj is listener:
            chooser.register(listener.accept()[0], selectors.EVENT_READ); continue
        line = key.fileobj.recv(64)
        if not line: chooser.unregister(key.fileobj); key.fileobj.close(); continue
        key.fileobj.sendall(answer(line)); served += 1
for c in clients: c.join()
print("COUNT requests=%d" % served)
