"""wsgiref: one thread serves 400 requests; a session for each visitor stays, expires, or is not made. ok|leak|expire"""
import json
import sys
import threading
import urllib.request
import uuid
from wsgiref.simple_server import WSGIRequestHandler, make_server

kind = sys.argv[1]
sessions = {}


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def page_of(visitor):
    return {"visitor": visitor, "items": [{"number": i, "name": "item %d" % i} for i in range(150)]}


def application(environ, start_response):
    visitor = str(uuid.uuid4())
    page = page_of(visitor)
    body = json.dumps(page).encode()
    if kind != "ok":
        sessions[visitor] = json.loads(body)  # HOLD
    if kind == "expire" and len(sessions) > 40:
        del sessions[next(iter(sessions))]
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


server = make_server("127.0.0.1", 0, application, handler_class=Quiet)


def visit():
    for i in range(400):
        urllib.request.urlopen("http://127.0.0.1:%d/%d" % (server.server_port, i)).read()
    server.shutdown()


threading.Thread(target=visit).start()
server.serve_forever(poll_interval=0.05)
print("COUNT requests=400")
