"""HTTP/2 without TLS at either end of an exchange; speakers.py describes the interface.

As strict as h2_connection.py: whatever is not a proper message raises Broken. All legs of one
client share a connection, and an origin serves all streams of its connections.
"""
import itertools
import queue
import socket
import threading

import speaker_h1
from client import PATIENCE
from h2_connection import Code, Connection, Setting

name = "h2"
abilities = {
    "upgrade",      # as extended CONNECT (RFC 8441)
    "streams",      # many exchanges on one connection at a time
    "codes",        # a reset says why
}
TAKES_TRAILERS = [(b"te", b"trailers")]  # fields of a request
SWITCHED = 200
ORIGINS = 24                             # ports that weir is told of: each is used again later


def lower(fields):
    return [(field.lower(), value) for field, value in fields]


class Leg:
    """One end of one exchange: a stream."""

    def __init__(self, stream):
        self.stream, self.connection = stream, stream and stream.connection
        self.sending = "none"         # none, length, stream, bytes
        self.left = 0                 # of an announced length

    # what this leg sends

    def frame(self, length, streamed):
        """Says how the body is framed: more fields, and whether the head is all."""
        self.sending, self.left = "none", length
        if length is not None:
            self.sending = "length" if length else "none"
            return [(b"content-length", b"%d" % length)], not length
        if streamed:
            self.sending = "stream"
        return [], not streamed

    def send(self, data):
        assert self.sending != "none", "the head said that there is no body"
        if self.sending == "length":
            self.left -= len(data)
        self.stream.send(data, end=self.sending == "length" and self.left == 0)

    def end(self, trailers=()):
        """Whatever was announced is sent. A counted message has ended by itself."""
        if self.sending == "stream" and trailers:
            self.stream.send_headers(lower(trailers), end=True)
        elif self.sending in ("stream", "bytes"):
            self.stream.send(b"", end=True)
        self.sending = "none"

    def reset(self, code=Code.CANCEL):
        self.stream.reset(code)

    def truncate(self):
        """Ends in the middle of the message as if nothing were wrong: a stream where that shows,
        otherwise the connection."""
        if self.sending == "length":
            self.stream.send(b"", end=True)
        else:
            self.connection.half_close()

    # what this leg receives

    @property
    def complete(self):
        return self.stream.ended and self.stream.code in (None, Code.NO_ERROR)

    @property
    def trailers(self):
        return self.stream.trailers

    @property
    def receiving(self):
        if self.sending == "bytes":
            return "bytes"
        return "stream" if self.stream.expected is None else "length"

    @property
    def code(self):
        """Why the stream was reset; None: it was not."""
        return self.stream.code

    def read(self, count):
        return self.stream.take(count)

    def rest(self):
        return self.stream.take_all()


# the client

class ClientLeg(Leg):
    agreed = False                    # to be a tunnel

    def head(self):
        self.stream.wait(lambda: self.stream.final or self.stream.over(), "a head")
        head = self.stream.final
        if head and self.stream.request.method == b"CONNECT" and head.status // 100 == 2:
            self.sending, self.agreed = "bytes", True
        return head

    def wait_interim(self, status):
        self.stream.wait(lambda: status in [head.status for head in self.stream.interim]
                         or self.stream.over(), f"{status}")
        assert status in [head.status for head in self.stream.interim], "the end came instead"

    def usable(self):
        """The rest of a request may be refused once it is answered (RFC 9113 8.1)."""
        code = None if self.stream.sent_end else Code.NO_ERROR
        return self.connection.usable() and self.stream.code in (None, code)

    def again(self):
        """All requests use one connection."""


class ClientEnd:
    """Asks one origin through weir, all at a time on one connection as long as it is good."""

    def __init__(self, weir, server):
        self.weir, self.server = weir, server
        self.connections = []

    def connection(self):
        if not self.connections or self.connections[-1].end is not None \
                or self.connections[-1].going:
            connected = socket.create_connection(self.weir.address, PATIENCE)
            self.connections.append(Connection(connected, is_client=True))
        return self.connections[-1]

    def begin(self, leg, headers, end=False):
        leg.connection = self.connection()
        leg.stream = leg.connection.open(headers, end, dict(headers)[b":method"])
        return leg

    def ask(self, method=b"GET", path="/", fields=(), length=None, streamed=False):
        leg = ClientLeg(None)
        framing, end = leg.frame(length, streamed)
        return self.begin(leg, [(b":method", method), (b":scheme", b"http"),
                                (b":authority", self.server.authority), (b":path", path.encode()),
                                *lower(fields), *framing], end)

    def connect(self):
        return self.begin(ClientLeg(None), [(b":method", b"CONNECT"),
                                            (b":authority", self.server.expect_tunnel())])

    def upgrade(self, protocol, fields=()):
        settings = self.connection().wait_settings()
        assert settings.get(Setting.ENABLE_CONNECT_PROTOCOL) == 1, settings
        return self.begin(ClientLeg(None), [
            (b":method", b"CONNECT"), (b":protocol", protocol), (b":scheme", b"http"),
            (b":path", b"/"), (b":authority", self.server.authority),
            (b"sec-websocket-version", b"13"), *lower(fields)])

    def close(self):
        for connection in self.connections:
            connection.close()


# the server

class OriginLeg(Leg):
    @property
    def request(self):
        return self.stream.request

    @property
    def protocol(self):
        """What the client would switch to."""
        return self.request.pseudo.get(b":protocol")

    def interim(self, status, fields=()):
        self.stream.send_headers([(b":status", b"%d" % status), *lower(fields)])

    def answer(self, status=200, fields=(), length=None, streamed=False, body=True):
        framing, end = self.frame(length, streamed)
        if not body:
            self.sending, end = "none", True
        self.stream.send_headers([(b":status", b"%d" % status), *lower(fields), *framing], end)

    def switch(self, protocol):
        assert protocol == self.protocol
        self.stream.send_headers([(b":status", b"200")])
        self.sending = "bytes"

    def reset(self, code=Code.INTERNAL_ERROR):
        super().reset(code)

    def gone(self):
        self.stream.wait(lambda: self.stream.code is not None or self.connection.end is not None,
                         "the client's end")
        return True


def bound(port=0):
    """A socket that keeps a port as long as it does not listen, or one of that port."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made


class OriginEnd:
    """Serves every request that comes, on however many connections."""

    def __init__(self):
        self.listener = bound(next(ports).getsockname()[1])
        self.listener.listen(256)
        self.authority = b"127.0.0.1:%d" % self.listener.getsockname()[1]
        self.legs = queue.Queue()     # that nobody serves yet
        self.connections = []
        self.beside = None            # where tunnels lead: weir speaks nothing there
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def expect_tunnel(self):
        self.beside = speaker_h1.OriginEnd()
        self.beside.legs = self.legs
        return self.beside.expect_tunnel()

    def url(self, path="/"):
        return b"http://%s%s" % (self.authority, path.encode())

    def accept(self):
        while True:
            try:
                accepted, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(Connection(
                accepted, is_client=False,
                on_stream=lambda stream: self.legs.put(OriginLeg(stream))))

    def serve(self):
        """Says what was wrong with a connection rather than that nothing came."""
        for unused in range(PATIENCE * 10):
            try:
                return self.legs.get(timeout=0.1)
            except queue.Empty:
                for connection in self.connections:
                    connection.blame()
        raise TimeoutError("no request came")

    def quiet(self, seconds=0.15):
        """No request comes."""
        try:
            self.legs.get(timeout=seconds)
        except queue.Empty:
            return True
        return False

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # ends accept()
        self.thread.join(PATIENCE)
        self.listener.close()
        if self.beside:
            self.beside.close()
        for connection in self.connections:
            connection.close()
        assert self.legs.empty(), f"a request that nobody expected: {self.legs.get()}"


kept_ports = [bound() for unused in range(ORIGINS)]
ports = itertools.cycle(kept_ports)
client, origin = ClientEnd, OriginEnd
