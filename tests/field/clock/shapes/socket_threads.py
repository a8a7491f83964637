"""ThreadingTCPServer with two clients in threads, 500 requests, a connection each. ok|leak|sessions"""
import socket, socketserver, sys, threading, numpy as np
kind = sys.argv[1]; kept = []; sessions = {}; lock = threading.Lock()
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        n = int(self.rfile.readline()); page = np.random.rand(9000); total = np.cumsum(page)  # HOLD 72 kB
        with lock:
            if kind == "leak": kept.append(total)
            if kind == "sessions": sessions[n % 40] = total
        self.wfile.write(b"%d\n" % int(total[-1]))
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True; daemon_threads = False; request_queue_size = 64
with Server(("127.0.0.1", 0), Handler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    def client(first):
        for n in range(first, 500, 2):
            with socket.create_connection(server.server_address) as s: s.sendall(b"%d\n" % n); s.recv(100)
    clients = [threading.Thread(target=client, args=(i,)) for i in (0, 1)]
    [c.start() for c in clients]; [c.join() for c in clients]
    server.shutdown()
print("COUNT requests=500")
