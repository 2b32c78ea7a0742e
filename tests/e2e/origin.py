"""A scripted origin on loopback: every connection runs a Python function in its own thread.

The function gets an OriginConnection and plays the server as well or as badly as it likes. What
arrives is recorded byte by byte. Whatever a handler raises, apart from the end of a connection
that the test provoked, makes the test fail when the origin is closed.
"""
import socket
import threading
import time

import client
import message


class OriginConnection:
    """One accepted connection."""

    def __init__(self, origin, accepted, number):
        self.origin = origin
        self.socket = accepted
        self.number = number          # 0 is the first connection of this origin
        self.reader = message.Reader(accepted)
        self.requests = []            # requests of this connection
        self.finished = threading.Event()

    @property
    def received(self):
        return bytes(self.reader.received)

    def request(self):
        """The next request, None when the proxy ends the connection; both are recorded."""
        request = message.read_request(self.reader)
        if request is not None:
            self.requests.append(request)
            self.origin.record(request)
        return request

    def request_head(self):
        """Only the head of the next request."""
        request = message.read_head(self.reader, message.REQUEST_LINE)
        if request is not None:
            self.requests.append(request)
            self.origin.record(request)
        return request

    def request_body(self, request):
        message.read_body(self.reader, request, until_close=False)

    def send(self, *pieces):
        for piece in pieces:
            self.socket.sendall(piece)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        client.reset(self.socket)

    def close(self):
        self.socket.close()

    def wait_end(self):
        """Waits for the proxy's end and returns how it came: "end" or "reset"."""
        self.reader.take_rest()
        return self.reader.end


def ok(body=b"ok", fields=b""):
    """A plain answer."""
    return b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s" % (fields, len(body), body)


def always(*pieces):
    """A handler that answers every request with those pieces, whatever it is."""
    def handler(connection):
        while connection.request():
            connection.send(*pieces)
    return handler


def default(connection):
    """A handler that answers every request with 200 and the path, HEAD without a body."""
    while (request := connection.request()) is not None:
        answer = ok(request.target)
        if request.method == b"HEAD":
            answer = answer[:answer.index(b"\r\n\r\n") + 4]
        connection.send(answer)


def echo(connection):
    """A handler that answers every request with its own body, framed as it came."""
    while (request := connection.request()) is not None:
        if request.framing == "chunked":
            connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            if request.body:
                connection.send(message.chunked(request.body, last=False))
            connection.send(b"0\r\n\r\n")
        else:
            connection.send(ok(request.body))


class Origin:
    """Listens on a port that the system picks."""

    def __init__(self, handler=default, host="127.0.0.1", receive_buffer=None, send_buffer=None):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.handler = handler
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if send_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        self.listener.bind((host, 0))
        self.listener.listen(128)
        self.host, self.port = host, self.listener.getsockname()[1]
        self.connections = []
        self.requests = []
        self.errors = []
        self.changed = threading.Condition()
        self.closing = False
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def authority(self):
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}".encode()

    def url(self, path="/"):
        return f"http://{self.authority.decode()}{path}"

    def record(self, request):
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()

    def wait(self, condition, what="a condition at the origin", seconds=client.PATIENCE):
        """Waits until condition() holds; it is asked whenever something arrives."""
        end = time.monotonic() + seconds
        with self.changed:
            while not condition():
                left = end - time.monotonic()
                assert left > 0, f"waited in vain for {what}; {self.requests}"
                self.changed.wait(min(left, 0.02))

    def connection(self, number=0):
        """The connection with that number, once it was accepted."""
        self.wait(lambda: len(self.connections) > number, f"connection {number}")
        return self.connections[number]

    def accept(self):
        while True:
            try:
                accepted, _ = self.listener.accept()
            except OSError:
                return
            accepted.settimeout(client.PATIENCE)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.changed:
                connection = OriginConnection(self, accepted, len(self.connections))
                self.connections.append(connection)
                self.changed.notify_all()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            self.handler(connection)
        except (ConnectionError, socket.timeout) as problem:
            connection.problem = problem  # a test may have provoked it; those that care look
        except OSError as problem:
            if not self.closing:
                self.errors.append(problem)
        except Exception as problem:      # noqa: B902 - reported by close()
            self.errors.append(problem)
        finally:
            connection.socket.close()
            connection.finished.set()

    def close(self):
        """Ends everything; raises what a handler raised."""
        self.closing = True
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for connection in list(self.connections):
            try:
                connection.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.finished.wait(2)
        if self.errors:
            raise self.errors[0]
