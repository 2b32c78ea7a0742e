"""A client whose words are HTTP/1.1 and travel as HTTP/2, so that one test is about both.

What a test sends is read as requests, each of which becomes a stream; what comes back is written as
HTTP/1.1, in the order of the requests, for message.py to read. Between them is h2_connection.py,
which is strict about HTTP/2. A reset of the client is one of its streams.
"""
import re
import socket

from client import PATIENCE
from h2_connection import CONNECTION_FIELDS, STREAM_WINDOW, Code, Connection
from message import Reader, chunked, parse_fields, read_response

DROPPED = CONNECTION_FIELDS | {b"host", b"sec-websocket-key"}


# a request, as HTTP/2 has it

def split_target(target, host):
    """Scheme, authority and path; a path alone is asked of the host."""
    absolute = re.fullmatch(rb"([a-z]+)://([^/?]*)(.*)", target)
    scheme, authority, path = absolute.groups() if absolute else (b"http", host, target)
    return scheme, authority, path if path.startswith(b"/") or path == b"*" else b"/" + path


def lower(fields):
    return [(name.lower(), value) for name, value in fields]


def headers_of(method, target, fields):
    """The header block of a request, and whether it asks for another protocol."""
    named = dict(fields)
    others = [(name, value) for name, value in fields if name not in DROPPED]
    if method == b"CONNECT":
        return [(b":method", method), (b":authority", target), *others], False
    scheme, authority, path = split_target(target, named.get(b"host", b""))
    where = [(b":scheme", scheme), (b":authority", authority), (b":path", path)]
    if b"upgrade" in named:
        return [(b":method", b"CONNECT"), (b":protocol", named[b"upgrade"]), *where, *others], True
    return [(b":method", method), *where, *others], False


class Requests:
    """Reads requests from what a test sends, piece by piece, and sends each on as it comes."""

    def __init__(self, client):
        self.client = client
        self.kept = b""               # not understood yet
        self.left = 0                 # of a body or of a chunk
        self.answer = None            # to the request that is being read
        self.state = self.read_head

    def take(self, piece):
        self.kept += piece
        while self.state():
            pass

    def take_until(self, end):
        """What is before that, once it has come."""
        taken, found, rest = self.kept.partition(end)
        if not found:
            return None
        self.kept = rest
        return taken

    def read_head(self):
        head = self.take_until(b"\r\n\r\n")
        if head is None:
            return False
        first, *lines = head.split(b"\r\n")
        method, target, _ = first.split(b" ")
        fields = lower(parse_fields(lines))
        named = dict(fields)
        headers, switches = headers_of(method, target, fields)
        streamed = b"transfer-encoding" in named
        length = named.get(b"content-length", b"0")
        self.left = int(length) if length.isdigit() else 0
        tunnel = method == b"CONNECT" or switches
        self.state = (self.pass_tunnel if tunnel else self.read_size if streamed
                      else self.pass_body if self.left else self.read_head)
        self.answer = self.client.open(headers, self.state == self.read_head, method, switches)
        return True

    def send(self, data, end=False):
        """Whatever is sent on to a stream that is gone, HTTP/1.1 sends to nobody as well."""
        try:
            self.answer.stream.send(data, end)
        except ConnectionResetError:
            if self.client.connection.end is not None:
                raise

    def send_trailers(self, trailers):
        with self.client.connection.changed:
            if self.answer.stream.code is None:
                self.answer.stream.send_headers(trailers, end=True)

    def push(self, piece, most, still):
        """Of a body, as much as is taken; stops when for so long there is no window."""
        sent = 0
        while sent < most:
            try:
                self.answer.stream.send(piece, patience=still)
            except TimeoutError:
                break
            sent += len(piece)
        return sent

    def end(self):
        """Of a tunnel; otherwise of the connection."""
        if self.state == self.pass_tunnel:
            self.send(b"", end=True)
        else:
            self.client.connection.half_close()

    def pass_some(self, ends):
        data, self.kept = self.kept[:self.left], self.kept[self.left:]
        self.left -= len(data)
        self.send(data, ends and not self.left)
        return bool(data)

    def pass_body(self):
        progress = self.pass_some(ends=True)
        self.state = self.pass_body if self.left else self.read_head
        return progress

    def read_size(self):
        line = self.take_until(b"\r\n")
        if line is None:
            return False
        self.left = int(line, 16)
        self.state = self.pass_chunk if self.left else self.read_trailers
        return True

    def pass_chunk(self):
        progress = self.pass_some(ends=False)
        self.state = self.pass_chunk if self.left else self.read_chunk_end
        return progress

    def read_chunk_end(self):
        if self.take_until(b"\r\n") is None:
            return False
        self.state = self.read_size
        return True

    def read_trailers(self):
        if self.kept.startswith(b"\r\n"):
            section, self.kept = b"", self.kept[2:]
        else:
            section = self.take_until(b"\r\n\r\n")
        if section is None:
            return False
        trailers = lower(parse_fields(section.split(b"\r\n"))) if section else []
        if trailers:
            self.send_trailers(trailers)
        else:
            self.send(b"", end=True)
        self.state = self.read_head
        return True

    def pass_tunnel(self):
        """Bytes to their end, unless the tunnel was refused: then another request."""
        head = self.answer.stream.final
        if head and head.status // 100 != 2:
            self.state = self.read_head
            return True
        data, self.kept = self.kept, b""
        self.send(data)
        return False


# an answer, as HTTP/1.1 has it

def as_h1(fields):
    """Names as they are usual there; those of a stream are known to be in lower case."""
    return b"".join(b"%s: %s\r\n" % (name.title(), value) for name, value in fields)


class Answer:
    """What comes of one stream."""

    def __init__(self, stream, method, switches):
        self.stream, self.method, self.switches = stream, method, switches
        self.interim = 0              # heads of those that were taken
        self.framing = None           # of the body; None as long as the final head was not taken
        self.over = False

    def ready(self):
        stream = self.stream
        return len(stream.interim) > self.interim or stream.final and not self.framing or \
            stream.kept or stream.over()

    def take(self):
        """The next bytes; none: it has ended, and over says whether well."""
        if len(self.stream.interim) > self.interim:
            self.interim += 1
            return self.head(self.stream.interim[self.interim - 1], [])
        if self.stream.final and not self.framing:
            return self.final_head()
        if self.stream.kept:
            data = self.stream.take_piece(len(self.stream.kept))
            return chunked(data, last=False) if self.framing == "chunked" else data
        self.over = self.stream.ended and self.framing != "bytes"
        if self.over and self.framing == "chunked":
            return b"0\r\n" + as_h1(self.stream.trailers) + b"\r\n"
        return b""

    def final_head(self):
        head = self.stream.final
        no_body = self.method == b"HEAD" or head.status in (204, 304)
        if self.stream.request.method == b"CONNECT" and head.status // 100 == 2:
            self.framing = "bytes"
        else:
            self.framing = "length" if no_body or head.all(b"content-length") else "chunked"
        return self.head(head, [(b"transfer-encoding", b"chunked")] if self.framing == "chunked"
                         else [])

    def head(self, head, framing):
        status = 101 if self.switches and self.framing == "bytes" else head.status
        return b"HTTP/1.1 %d \r\n%s\r\n" % (status, as_h1(head.fields + framing))


class Answers:
    """All of them, in order, as a socket that message.Reader reads."""

    def __init__(self, connection):
        self.connection, self.waiting = connection, []
        self.timeout = PATIENCE

    def gettimeout(self):
        return self.timeout

    def settimeout(self, seconds):
        self.timeout = seconds

    def recv(self, unused):
        while True:
            self.connection.wait(self.ready, "an answer", self.timeout)
            if not self.waiting:
                return self.end()
            answer = self.waiting[0]
            piece = answer.take()
            if answer.over:
                self.waiting.pop(0)
            if piece:
                return piece
            if not answer.over:
                return self.end(answer.stream.code)

    def ready(self):
        return self.waiting[0].ready() if self.waiting else self.connection.end is not None

    def end(self, code=None):
        """A stream that was reset is a connection that was."""
        if code is not None or self.connection.end == "reset":
            raise ConnectionResetError
        return b""


class ClientOverH2:
    """The interface is client.Client's; what it receives unread is a window."""

    def __init__(self, address, receive_buffer=STREAM_WINDOW):
        connected = socket.create_connection(address, PATIENCE)
        self.port = connected.getsockname()[1]
        self.connection = Connection(connected, is_client=True, window=receive_buffer)
        self.socket = Answers(self.connection)
        self.requests = Requests(self)
        self.reader = Reader(self.socket)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def open(self, headers, end, method, switches):
        """What Requests has read of one: a stream, and the place of its answer among the others."""
        stream = self.connection.open(headers, end, dict(headers)[b":method"])
        self.socket.waiting.append(Answer(stream, method, switches))
        return self.socket.waiting[-1]

    def send(self, *pieces):
        for piece in pieces:
            self.requests.take(piece)

    def ask(self, *pieces, method=None):
        self.send(*pieces)
        return self.response(method or re.match(rb"[A-Z]*", pieces[0]).group())

    def response(self, method=b"GET", body=True):
        return read_response(self.reader, method, body)

    def connect(self, authority, early=b""):
        self.send(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s" % (authority, authority, early))
        return self.response(b"CONNECT")

    def push(self, piece, most, still):
        """See client.Client."""
        return self.requests.push(piece, most, still)

    def half_close(self):
        self.requests.end()

    def reset(self):
        for answer in self.socket.waiting:
            answer.stream.reset(Code.CANCEL)

    def close(self):
        self.connection.close()

    def ended(self):
        return not self.reader.available() and not self.reader.fill()

    def usable(self):
        return self.reader.quiet(0.15) and self.connection.usable()
