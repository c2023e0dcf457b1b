"""A TCP proxy between ketcd and one member, which delays, stalls or drops what goes through it, and an HTTP server that is no etcd."""

import socket
import threading
import time


class Proxy:
    """Passes connections on to a port. `mode` may change at any time: pass, delay, stall (says nothing any more) or drop."""

    def __init__(self, port, mode="pass", delay=0.0):
        self.target, self.mode, self.delay = port, mode, delay
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def endpoint(self):
        return f"https://127.0.0.1:{self.port}"

    def serve(self):
        while True:
            try:
                inner, _ = self.listener.accept()
            except OSError:
                return
            if self.mode == "drop":
                inner.close()
                continue
            outer = socket.create_connection(("127.0.0.1", self.target))
            for pair in ((inner, outer), (outer, inner)):
                threading.Thread(target=self.copy, args=pair, daemon=True).start()

    def copy(self, source, sink):
        try:
            while data := source.recv(65536):
                while self.mode == "stall":
                    time.sleep(0.05)
                if self.mode == "drop":
                    break
                if self.mode == "delay":
                    time.sleep(self.delay)
                sink.sendall(data)
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def end(self):
        self.mode = "drop"
        self.listener.close()


def web():
    """A port on which an HTTP proxy answers that does not know us."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection):
        try:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
        except OSError:
            pass
        connection.close()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]
