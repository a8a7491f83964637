"""http.server with a thread for each connection, one client with urllib, 300 requests of varying length. ok|leak"""
import http.server, json, sys, threading, urllib.request
leak = sys.argv[1] == "leak"; log = []
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        n = int(self.path[1:]); rows = [{"id": i, "text": "row %d of %d" % (i, n)} for i in range(200 + n % 50)]
        body = json.dumps(rows).encode()
        if leak: log.append(json.loads(body))  # HOLD
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for n in range(300): urllib.request.urlopen("http://127.0.0.1:%d/%d" % (server.server_port, n)).read()
server.shutdown(); print("COUNT requests=300")
