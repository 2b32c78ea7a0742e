"""HTTP/1.1 and HTTP/1.0 at either end of an exchange; speakers.py describes the interface.

As strict as message.py: whatever is not exactly a message raises Broken.
"""
import base64
import hashlib
import queue
import re
import socket
import threading

import message
from client import PATIENCE, Client, reset

name = "h1"
abilities = {
    "until close",  # a body that lasts until the end of the connection
    "old",          # HTTP/1.0
    "pipelining",
    "upgrade",
}
TAKES_TRAILERS = [(b"TE", b"trailers"), (b"Connection", b"TE")]  # fields of a request
SWITCHED = 101
QUIET = 0.05                          # seconds: what would come on loopback has come
kept_ports = []                       # weir is told of none: h1 is what it speaks by itself
WEBSOCKET_KEY = (b"Sec-WebSocket-Key", b"dGhlIHNhbXBsZSBub25jZQ==")  # RFC 6455 1.3


def websocket_accept(key):
    """RFC 6455 4.2.2"""
    digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    return base64.b64encode(digest)


def check_switch(head):
    """What a client must see before it believes a 101."""
    if head.get(b"upgrade") != b"websocket" or head.items(b"connection") != [b"Upgrade"]:
        raise message.Broken(f"101 that switches to nothing: {head}")
    if head.get(b"sec-websocket-accept") != websocket_accept(WEBSOCKET_KEY[1]):
        raise message.Broken(f"101 that does not answer the key: {head}")


def field_lines(fields):
    return b"".join(b"%s: %s\r\n" % field for field in fields)


class Leg:
    """One end of one exchange, on a connection that has nothing else to do meanwhile."""

    def __init__(self, connection, reader):
        self.socket, self.reader = connection, reader
        self.sending = "none"         # none, length, chunked, close, bytes
        self.receiving = "none"       # likewise
        self.complete, self.trailers = False, []
        self.pieces = iter(())        # of the body that is received
        self.kept = bytearray()       # of them, not read yet

    # what this leg sends

    def send_head(self, start, fields, length=None, streamed=False):
        framing = []
        self.sending = "none"
        if length is not None:
            framing, self.sending = [(b"Content-Length", b"%d" % length)], "length"
        elif streamed:
            framing, self.sending = [(b"Transfer-Encoding", b"chunked")], "chunked"
        self.socket.sendall(start + b"\r\n" + field_lines([*fields, *framing]) + b"\r\n")

    def send(self, data):
        assert self.sending != "none", "the head said that there is no body"
        if self.sending == "chunked":
            data = message.chunked(data, last=False)
        self.socket.sendall(data)

    def end(self, trailers=()):
        """Whatever was announced is sent. A counted message has ended by itself."""
        if self.sending == "chunked":
            self.socket.sendall(b"0\r\n" + field_lines(trailers) + b"\r\n")
        elif self.sending in ("close", "bytes"):
            self.socket.shutdown(socket.SHUT_WR)
        self.sending = "none"

    def reset(self):
        reset(self.socket)

    def truncate(self):
        """Ends in the middle of the message as if nothing were wrong."""
        self.socket.shutdown(socket.SHUT_WR)

    # what this leg receives

    def expect_body(self, head, has_body, until_close):
        """Prepares for what is behind a head."""
        codings, length = head.items(b"transfer-encoding"), head.get(b"content-length")
        if not has_body:
            self.complete = True
        elif codings:
            assert codings == [b"chunked"] and length is None, head
            self.receiving, self.pieces = "chunked", self.chunks()
        elif length is not None:
            assert re.fullmatch(rb"[0-9]+", length), head
            self.receiving, self.pieces = "length", self.counted(int(length))
        elif until_close:
            self.receiving, self.pieces = "close", self.until_end()
        else:
            self.complete = True

    def become_bytes(self):
        """Bytes both ways from here on."""
        self.sending = self.receiving = "bytes"
        self.complete, self.pieces = False, self.until_end()

    def some(self, most):
        """At least one byte of those that come, none at their end."""
        if not self.reader.available() and not self.reader.fill():
            return b""
        return self.reader.take(min(most, self.reader.available()))

    def block(self, left):
        """That many bytes, piece by piece; returns how many were missing at the end."""
        while left and (piece := self.some(left)):
            left -= len(piece)
            yield piece
        return left

    def counted(self, length):
        missing = yield from self.block(length)
        self.complete = missing == 0

    def chunks(self):
        while (size := self.chunk_size()) != 0:
            if size is None or (yield from self.block(size)):
                return
            after = self.reader.take(2)
            if after != b"\r\n"[:len(after)]:
                raise message.Broken(f"chunk is not followed by CR LF but {after!r}")
        lines = message.read_section(self.reader)
        if lines is not None:
            self.trailers, self.complete = message.parse_fields(lines), True

    def chunk_size(self):
        """None when the end came first."""
        line = self.reader.take_line()
        if line is not None and not message.CHUNK_SIZE.fullmatch(line):
            raise message.Broken(f"not a chunk size: {line!r}")
        return None if line is None else int(line, 16)

    def until_end(self):
        while piece := self.some(1 << 20):
            yield piece
        self.complete = self.reader.end == "end"

    def read(self, count):
        """The next count bytes; fewer only where they end."""
        while len(self.kept) < count and (piece := next(self.pieces, None)):
            self.kept += piece
        taken = bytes(self.kept[:count])
        del self.kept[:count]
        return taken

    def rest(self):
        """What was not read yet, up to the end; `complete` says what end that was."""
        for piece in self.pieces:
            self.kept += piece
        taken, self.kept = bytes(self.kept), bytearray()
        return taken


# the client

class ClientLeg(Leg):
    agreed = False                    # to be a tunnel

    def __init__(self, owner, connection, method):
        super().__init__(connection.socket, connection.reader)
        self.owner, self.connection, self.method = owner, connection, method

    def head(self):
        """The final head, with what came before it as `interim`; None: the end came instead."""
        head = message.read_response(self.reader, self.method, body=False)
        if head is None:
            return None
        no_body = self.method == b"HEAD" or head.status in (204, 304)
        self.expect_body(head, not no_body, until_close=True)
        if head.status == 101 or self.method == b"CONNECT" and head.status // 100 == 2:
            assert head.items(b"transfer-encoding") == [] and head.get(b"content-length") is None
            if head.status == 101:
                check_switch(head)
            self.agreed = True
            self.become_bytes()
        return head

    def wait_interim(self, status):
        """Until that interim answer is there. head() tells of it too."""
        while b"HTTP/1.1 %d " % status not in self.reader.received:
            assert self.reader.fill(), "the end came instead"

    def ended(self):
        """Nothing comes any more but the end."""
        return self.connection.ended()

    def usable(self):
        """Another exchange may follow, and nothing came that nobody waits for."""
        return self.connection.reader.quiet(QUIET)

    def again(self):
        """The client's next request uses the connection of this leg."""
        self.owner.idle.append(self.connection)


class ClientEnd:
    """Asks one origin through weir, over as many connections as it needs."""

    def __init__(self, weir, server):
        self.weir, self.server = weir, server
        self.idle, self.connections = [], []

    def connection(self, **options):
        if self.idle:
            return self.idle.pop()
        self.connections.append(Client(self.weir.address, **options))
        return self.connections[-1]

    def ask(self, method=b"GET", path="/", fields=(), length=None, streamed=False, old=False,
            **options):
        leg = ClientLeg(self, self.connection(**options), method)
        leg.send_head(b"%s %s HTTP/1.%d" % (method, self.server.url(path), not old),
                      [(b"Host", self.server.authority), *fields], length, streamed)
        return leg

    def pipeline(self, paths):
        """Asks for all of them at once; a leg for each, to be read in this order."""
        connection = self.connection()
        connection.send(b"".join(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n"
                                 % (self.server.url(path), self.server.authority)
                                 for path in paths))
        return [ClientLeg(self, connection, b"GET") for unused in paths]

    def connect(self):
        authority = self.server.expect_tunnel()
        leg = ClientLeg(self, self.connection(), b"CONNECT")
        leg.send_head(b"CONNECT %s HTTP/1.1" % authority, [(b"Host", authority)])
        return leg

    def upgrade(self, protocol, fields=()):
        return self.ask(fields=[(b"Upgrade", protocol), (b"Connection", b"Upgrade"), WEBSOCKET_KEY,
                                (b"Sec-WebSocket-Version", b"13"), *fields])

    def close(self):
        for connection in self.connections:
            connection.close()


# the server

class OriginLeg(Leg):
    def __init__(self, connection, reader, request):
        super().__init__(connection, reader)
        self.request = request        # None: the end of a tunnel
        self.ended = False            # what this leg sends
        self.over = threading.Event()
        if request:
            self.expect_body(request, has_body=True, until_close=False)
        else:
            self.become_bytes()

    def interim(self, status, fields=()):
        self.send_head(b"HTTP/1.1 %d Interim" % status, fields)

    def answer(self, status=200, fields=(), length=None, streamed=False, body=True,
               until_close=False, old=False):
        """The final head: no body without one of length, streamed and until_close. Without
        `body` it only says how the body would be framed."""
        self.send_head(b"HTTP/1.%d %d Some Reason" % (not old, status), fields, length, streamed)
        if until_close:
            self.sending = "close"
        if not body:
            self.sending = "none"

    @property
    def protocol(self):
        """What the client would switch to."""
        return self.request.get(b"upgrade")

    def switch(self, protocol):
        """Agrees to an upgrade."""
        key = self.request.get(b"sec-websocket-key")
        assert re.fullmatch(rb"[A-Za-z0-9+/]{22}==", key or b""), self.request
        assert self.request.get(b"sec-websocket-version") == b"13", self.request
        self.send_head(b"HTTP/1.1 101 Switching Protocols",
                       [(b"Upgrade", protocol), (b"Connection", b"Upgrade"),
                        (b"Sec-WebSocket-Accept", websocket_accept(key))])
        self.become_bytes()

    def end(self, trailers=()):
        super().end(trailers)
        self.ended = True
        self.go_on()

    def rest(self):
        taken = super().rest()
        self.go_on()
        return taken

    def gone(self):
        """Nobody is there any more who waits for an answer."""
        return not self.reader.take_rest() and self.reader.end is not None

    def go_on(self):
        """The connection's next request may be read once both messages are whole."""
        if self.ended and self.complete:
            self.over.set()


class OriginEnd:
    """Serves every request that comes, one after the other on each connection."""

    def __init__(self, receive_buffer=None, send_buffer=None):
        self.listener = socket.socket()
        for option, size in ((socket.SO_RCVBUF, receive_buffer), (socket.SO_SNDBUF, send_buffer)):
            if size:
                self.listener.setsockopt(socket.SOL_SOCKET, option, size)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(256)
        self.authority = b"127.0.0.1:%d" % self.listener.getsockname()[1]
        self.legs = queue.Queue()     # that nobody serves yet
        self.tunnels = 0              # so many of the next connections are those of tunnels
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, path="/"):
        return b"http://%s%s" % (self.authority, path.encode())

    def expect_tunnel(self):
        """Of the next connection; returns where it leads."""
        self.tunnels += 1
        return self.authority

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(connection)
            if self.tunnels:
                self.tunnels -= 1
                connection.settimeout(PATIENCE)
                self.legs.put(OriginLeg(connection, message.Reader(connection), None))
            else:
                threading.Thread(target=self.take, args=(connection,), daemon=True).start()

    def take(self, connection):
        """The requests of one connection."""
        reader = message.Reader(connection)
        try:
            while request := message.read_head(reader, message.REQUEST_LINE):
                connection.settimeout(PATIENCE)
                leg = OriginLeg(connection, reader, request)
                self.legs.put(leg)
                leg.over.wait()
                connection.settimeout(None)
        except message.Broken as problem:
            self.legs.put(problem)
        except OSError:
            pass                      # the test has closed it

    def serve(self):
        leg = self.legs.get(timeout=PATIENCE)
        if isinstance(leg, Exception):
            raise leg
        return leg

    def quiet(self, seconds=0.15):
        """No request comes."""
        try:
            self.legs.get(timeout=seconds)
        except queue.Empty:
            return True
        return False

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # ends accept()
        self.listener.close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass                  # the test or weir has ended it
            connection.close()
        assert self.legs.empty(), f"a request that nobody expected: {self.legs.get()}"


client, origin = ClientEnd, OriginEnd
