"""HTTP/1 messages read strictly from a socket: there is one way to read a message, or none.

Nothing here repairs what it reads. Whatever a proxy sends that is not exactly a message raises
Broken, and a message that ends early is returned with complete = False.
"""
import re
import socket
import time

TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
STATUS_LINE = re.compile(rb"HTTP/1\.[01] [1-9][0-9][0-9] [\t\x20-\x7e\x80-\xff]*")
REQUEST_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [\x21-\x7e\x80-\xff]+ HTTP/1\.[01]")


class Broken(Exception):
    """The bytes received are not an HTTP/1 message."""


class Reader:
    """Reads from a socket and remembers every byte and when it came."""

    def __init__(self, connection):
        self.connection = connection
        self.received = bytearray()   # everything, never shortened
        self.position = 0             # how far the messages have been read
        self.arrivals = []            # (time, length of received afterwards)
        self.end = None               # None while open, then "end" or "reset"

    def fill(self):
        """Waits for more bytes; False when the peer's direction is over. Raises on timeout."""
        if self.end:
            return False
        try:
            piece = self.connection.recv(262144)
        except (ConnectionResetError, BrokenPipeError):
            self.end = "reset"
            return False
        if not piece:
            self.end = "end"
            return False
        self.received += piece
        self.arrivals.append((time.monotonic(), len(self.received)))
        return True

    def available(self):
        return len(self.received) - self.position

    def take(self, count):
        """Exactly count bytes, or what came before the end."""
        while self.available() < count and self.fill():
            pass
        taken = bytes(self.received[self.position:self.position + count])
        self.position += len(taken)
        return taken

    def take_line(self):
        """One line without its CR LF; None when the peer ended first."""
        searched = self.position
        while True:
            at = self.received.find(b"\n", searched)
            if at >= 0:
                line = bytes(self.received[self.position:at + 1])
                if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
                    raise Broken(f"line end is not CR LF: {line!r}")
                self.position = at + 1
                return line[:-2]
            searched = len(self.received)
            if not self.fill():
                return None

    def take_rest(self):
        """Everything up to the peer's end."""
        while self.fill():
            pass
        return self.take(self.available())

    def arrived(self, marker):
        """When the last byte of the first occurrence of marker came."""
        at = self.received.find(marker)
        if at < 0:
            raise AssertionError(f"{marker!r} never came; got {bytes(self.received[-400:])!r}")
        return next(when for when, length in self.arrivals if length >= at + len(marker))

    def quiet(self, seconds):
        """True when neither a byte nor an end comes for that long."""
        if self.end or self.available():
            return False
        before = self.connection.gettimeout()
        self.connection.settimeout(seconds)
        try:
            self.fill()
            return False
        except socket.timeout:
            return True
        finally:
            self.connection.settimeout(before)


class Message:
    """A request or a response as it was received."""

    def __init__(self, start, fields, raw_head):
        self.start = start            # first line, bytes
        self.fields = fields          # [(name, value)] bytes, in order, case kept
        self.raw_head = raw_head      # the head's exact bytes
        self.body = b""
        self.trailers = []
        self.chunks = []              # sizes of the chunks, when chunked
        self.framing = "none"         # none, length, chunked or close
        self.complete = False
        self.interim = []             # 1xx responses before this one

    @property
    def method(self):
        return self.start.split(b" ")[0]

    @property
    def target(self):
        return self.start.split(b" ")[1]

    @property
    def status(self):
        return int(self.start.split(b" ")[1])

    @property
    def version(self):
        return self.start[5:8] if self.start.startswith(b"HTTP/") else self.start[-3:]

    def all(self, name):
        return [value for known, value in self.fields if known.lower() == name.lower()]

    def get(self, name):
        """The only value of a field, None without one; more than one is an error."""
        values = self.all(name)
        assert len(values) <= 1, f"{name!r} came more than once: {self.fields}"
        return values[0] if values else None

    def items(self, name):
        """Members of a list field over all of its lines, in order."""
        return [item.strip() for value in self.all(name)
                for item in value.split(b",") if item.strip()]

    def __repr__(self):
        return f"<{self.start!r} {self.fields!r} {self.framing} {len(self.body)} bytes" \
               f"{'' if self.complete else ', incomplete'}>"


def parse_fields(lines):
    fields = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not TOKEN.fullmatch(name) or not VALUE.fullmatch(value):
            raise Broken(f"not a field line: {line!r}")
        fields.append((name, value.strip(b" \t")))
    return fields


def read_section(reader):
    """Field lines up to the empty line; None when the peer ended first."""
    lines = []
    while True:
        line = reader.take_line()
        if line is None:
            return None
        if not line:
            return lines
        lines.append(line)


def read_head(reader, start_line):
    """A Message without its body, or None when the peer ended before a first byte."""
    begin = reader.position
    start = reader.take_line()
    if start is None:
        if reader.available() and reader.end == "end":
            raise Broken(f"head cut off: {bytes(reader.received[begin:])!r}")
        return None
    if not start_line.fullmatch(start):
        raise Broken(f"not a first line: {start!r}")
    lines = read_section(reader)
    if lines is None:
        raise Broken(f"head cut off: {bytes(reader.received[begin:])!r}")
    return Message(start, parse_fields(lines), bytes(reader.received[begin:reader.position]))


def read_chunks(reader, message):
    body = bytearray()
    message.framing = "chunked"
    while True:
        line = reader.take_line()
        if line is None:
            break
        if not CHUNK_SIZE.fullmatch(line):
            raise Broken(f"not a chunk size: {line!r}")
        size = int(line, 16)
        if size == 0:
            trailers = read_section(reader)
            if trailers is not None:
                message.trailers = parse_fields(trailers)
                message.complete = True
            break
        message.chunks.append(size)
        body += reader.take(size)
        after = reader.take(2)
        if after != b"\r\n"[:len(after)]:
            raise Broken(f"chunk is not followed by CR LF but {after!r}")
        if len(after) < 2:
            break
    message.body = bytes(body)


def read_body(reader, message, until_close):
    """Reads the body as the head frames it; until_close: no framing means up to the end."""
    codings, lengths = message.items(b"transfer-encoding"), message.all(b"content-length")
    if codings and lengths:
        raise Broken(f"both framings: {message.fields}")
    if codings:
        if codings != [b"chunked"]:
            raise Broken(f"transfer coding {codings}")
        read_chunks(reader, message)
    elif lengths:
        if len(lengths) > 1 or not re.fullmatch(rb"[0-9]+", lengths[0]):
            raise Broken(f"content length {lengths}")
        message.framing = "length"
        message.body = reader.take(int(lengths[0]))
        message.complete = len(message.body) == int(lengths[0])
    elif until_close:
        message.framing = "close"
        message.body = reader.take_rest()
        message.complete = reader.end == "end"
    else:
        message.complete = True


def read_request(reader):
    """The next request with its body; None when the client ended the connection instead."""
    request = read_head(reader, REQUEST_LINE)
    if request is not None and request.method != b"CONNECT":
        read_body(reader, request, until_close=False)
    return request


def read_response(reader, method=b"GET", body=True):
    """The next final response to a request with that method, body included unless told not to.

    None when the connection ended before a first byte.
    """
    interim = []
    while True:
        response = read_head(reader, STATUS_LINE)
        if response is None:
            assert not interim, f"only interim responses came: {interim}"
            return None
        if response.status >= 200 or response.status == 101:
            break
        response.complete = True
        interim.append(response)
    response.interim = interim
    if method == b"HEAD" or response.status in (101, 204, 304) \
            or method == b"CONNECT" and response.status // 100 == 2:
        response.complete = True
    elif body:
        read_body(reader, response, until_close=True)
    return response


def chunked(*pieces, last=True):
    """A chunked body of those pieces."""
    coded = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return coded + (b"0\r\n\r\n" if last else b"")
