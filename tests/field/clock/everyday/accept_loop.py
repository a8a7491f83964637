"""Prefork: three children accept from one socket until they get a TERM; the parent asks 450 times. A child keeps its uploads. ok|leak"""
import os
import signal
import socket
import sys

kind = sys.argv[1]
uploads = []


def receive(connection):
    parts = []
    while part := connection.recv(8192):
        parts.append(part)
    data = b"".join(parts)  # HOLD 40 kB
    return data


served = 0


def end(*_):
    print("COUNT child=%d" % served, flush=True)
    sys.exit(0)


def serve(listener):
    global served
    while True:
        connection, _ = listener.accept()
        data = receive(connection)
        if kind == "leak":
            uploads.append(data)
        connection.sendall(b"%d" % len(data))
        connection.close()
        served += 1


listener = socket.create_server(("127.0.0.1", 0), backlog=64)
children = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, end)
        serve(listener)
    children.append(pid)
for number in range(450):
    with socket.create_connection(listener.getsockname()) as client:
        client.sendall(bytes([number % 256]) * 40000)
        client.shutdown(socket.SHUT_WR)
        client.recv(16)
for pid in children:
    os.kill(pid, signal.SIGTERM)
for pid in children:
    os.waitpid(pid, 0)
print("COUNT requests=450")
