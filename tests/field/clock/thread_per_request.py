"""ThreadingHTTPServer, a thread per request, 300 requests. ok|leak"""
import sys, threading, http.server, urllib.request, numpy as np
leak = sys.argv[1] == "leak"; kept = []
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        x = np.ones(8000) * 3; y = x + 1  # HOLD 64 kB
        if leak: kept.append(y)
        b = b"%d" % len(kept); self.send_response(200); self.send_header("Content-Length", str(len(b))); self.end_headers(); self.wfile.write(b)
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
for i in range(300): urllib.request.urlopen("http://127.0.0.1:%d/" % s.server_port).read()
s.shutdown(); print("COUNT requests=300")
