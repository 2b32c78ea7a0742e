"""A client that says exactly what it is told and reads answers strictly."""
import re
import socket
import struct

import message

PATIENCE = 8  # seconds without a byte before a test gives up


def reset(connection):
    """Closes a socket with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Client:
    """One connection to a proxy, or to anything: (host, port), or the path of a socket."""

    def __init__(self, address, receive_buffer=None):
        is_path = isinstance(address, str)
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.socket = socket.socket(socket.AF_UNIX if is_path else family, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(address)
        if not is_path:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = message.Reader(self.socket)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    @property
    def port(self):
        return self.socket.getsockname()[1]

    def send(self, *pieces):
        for piece in pieces:
            self.socket.sendall(piece)

    def ask(self, *pieces, method=None):
        """Sends a request and reads its response; the method is read off the first bytes."""
        self.send(*pieces)
        return self.response(method or re.match(rb"[A-Z]*", pieces[0]).group())

    def response(self, method=b"GET", body=True):
        return message.read_response(self.reader, method, body)

    def connect(self, authority, early=b""):
        """Opens a tunnel, early bytes in the same packet; returns the response head."""
        self.send(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s" % (authority, authority, early))
        return self.response(b"CONNECT")

    def push(self, piece, most, still):
        """Sends that again and again, until so much is sent or for so long nothing is taken; tells
        how much was."""
        self.socket.settimeout(still)
        sent = 0
        try:
            while sent < most:
                sent += self.socket.send(piece)
        except TimeoutError:
            pass
        self.socket.settimeout(PATIENCE)
        return sent

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        reset(self.socket)

    def close(self):
        self.socket.close()

    def ended(self):
        """True when the peer ends the connection without another byte."""
        return not self.reader.available() and not self.reader.fill()

    def usable(self):
        """True when the connection stays open for a while without a byte."""
        return self.reader.quiet(0.15)
