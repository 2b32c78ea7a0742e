"""Both ends of connections through weir: clients that connect to it, and their origin."""
import contextlib
import socket
import subprocess

from harness.lab import Failure

SECONDS = 20  # for anything that a peer has to do
HEAD_BYTES_MOST = 65536

# What a client usually says of itself, so that heads have a usual length.
USUAL_FIELDS = (b"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 "
                b"Firefox/128.0\r\nAccept: */*\r\n")


class Ends:
    """A context: every socket that it made is closed when it is left."""

    def __init__(self, lab, port):
        self.lab, self.port = lab, port
        self.sockets = contextlib.ExitStack()

    def __enter__(self):
        self.listener = self.keep(socket.create_server(("127.0.0.1", 0), backlog=4096))
        self.listener.settimeout(SECONDS)
        self.authority = b"127.0.0.1:%d" % self.listener.getsockname()[1]
        return self

    def __exit__(self, *_):
        self.sockets.close()

    def keep(self, new):
        self.sockets.callback(new.close)
        return new

    def connect(self, receive_bytes=None):
        """A client's connection to weir. receive_bytes: how much its kernel takes unread."""
        client = self.keep(socket.socket())
        if receive_bytes:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        client.settimeout(SECONDS)
        client.connect(("127.0.0.1", self.port))
        return client

    def connect_tls(self, count, group):
        """So many clients that have agreed on that group, and got an answer from weir."""
        process = self.lab.start(
            [self.lab.tool("tls_clients"), str(self.port), str(count), group],
            self.lab.load_processor, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.sockets.callback(process.kill)
        if process.stdout.readline() != "ready\n":
            raise process.failure("is not ready")

    def accept(self):
        """weir's next connection to the origin."""
        try:
            server, _ = self.listener.accept()
        except TimeoutError:
            raise Failure(f"weir did not connect to the origin in {SECONDS} s") from None
        server.settimeout(SECONDS)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.keep(server)

    def request(self, method, path=b"/", fields=b""):
        return (b"%s http://%s%s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n"
                % (method, self.authority, path, self.authority, USUAL_FIELDS, fields))

    def connect_request(self):
        return (b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n%sProxy-Connection: keep-alive\r\n\r\n"
                % (self.authority, self.authority, USUAL_FIELDS))

    def exchange(self, request, receive_bytes=None):
        """A new client sends a request that has come to the origin: the two sockets."""
        client = self.connect(receive_bytes)
        client.sendall(request)
        server = self.accept()
        read_head(server)
        return client, server


def read_head(connection):
    """A head and what came behind it."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        head += piece
        if not piece or len(head) > HEAD_BYTES_MOST:
            raise Failure(f"no head but {head[:200]!r}")
    return head.split(b"\r\n\r\n", 1)


def read_exactly(connection, count):
    """Reads so many bytes and forgets them."""
    room = memoryview(bytearray(1 << 20))
    while count:
        got = connection.recv_into(room, min(count, len(room)))
        if not got:
            raise Failure(f"{count} bytes are missing")
        count -= got


def read_answer(connection, status=b"200", body=0):
    head, rest = read_head(connection)
    if head.split(b" ")[1:2] != [status]:
        raise Failure(f"weir answered {head[:200]!r}")
    read_exactly(connection, body - len(rest))


def queued():
    """For each local port of this machine: bytes in the kernel's buffers of the connections that
    end there, in both directions and on both sides."""
    bytes_of = {}
    with open("/proc/net/tcp") as file:
        for line in file.readlines()[1:]:
            columns = line.split()
            waiting = sum(int(number, 16) for number in columns[4].split(":"))
            for end in columns[1:3]:
                port = int(end.split(":")[1], 16)
                bytes_of[port] = bytes_of.get(port, 0) + waiting
    return bytes_of
