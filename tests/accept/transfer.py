#!/usr/bin/env python3
"""Sends much through weir, both ways and both framings, compares every byte, and reads weir's peak memory.

usage: transfer.py [--mebibytes N] [--peak MEBIBYTES] [--weir PATH]
Prints one line for each transfer; exit status 0 when all arrived byte-exact below that peak.
"""
import argparse
import collections
import multiprocessing
import pathlib
import random
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import program  # noqa: E402

MEBIBYTE = 1024 * 1024
DIRECTIONS = ["download", "upload"]
FRAMINGS = ["length", "chunked"]
PATIENCE = 60  # seconds without progress
# A prime number of bytes: buffers of any usual size that change places do not look alike.
PERIOD = 1048573
DOUBLED = random.Random(1).randbytes(PERIOD) * 2
CHUNKS = [1, 17, 4096, 65536, 100000, 262144, 1000000]

Outcome = collections.namedtuple("Outcome", "direction framing bytes exact seconds peak")


class Pattern:
    """The bytes that are sent, and the comparison with those that came."""

    def __init__(self, total):
        self.total = total
        self.position = 0

    def next(self, most):
        """The next bytes, at most so many."""
        at = self.position % PERIOD
        piece = memoryview(DOUBLED)[at:at + min(most, PERIOD, self.total - self.position)]
        self.position += len(piece)
        return piece

    def matches(self, pieces):
        """True when those pieces are all of the bytes and nothing else."""
        for piece in pieces:
            for begin in range(0, len(piece), PERIOD):
                part = piece[begin:begin + PERIOD]
                at = self.position % PERIOD
                if self.position + len(part) > self.total or part != DOUBLED[at:at + len(part)]:
                    return False
                self.position += len(part)
        return self.position == self.total


def send_body(connection, framing, total):
    pattern, turn = Pattern(total), 0
    while pattern.position < total:
        if framing == "length":
            connection.sendall(pattern.next(PERIOD))
            continue
        piece = pattern.next(CHUNKS[turn % len(CHUNKS)])
        turn += 1
        connection.sendall(b"%x\r\n" % len(piece))
        connection.sendall(piece)
        connection.sendall(b"\r\n")
    if framing == "chunked":
        connection.sendall(b"0\r\n\r\n")


def body_fields(framing, total):
    return b"Content-Length: %d\r\n" % total if framing == "length" \
        else b"Transfer-Encoding: chunked\r\n"


def read_head(stream):
    """First line and fields (names in lower case) of a message."""
    start = stream.readline().rstrip(b"\r\n")
    fields = {}
    while (line := stream.readline().rstrip(b"\r\n")):
        name, unused, value = line.partition(b":")
        fields[name.lower()] = value.strip()
    return start, fields


def pieces_of_length(stream, left):
    while left and (piece := stream.read(min(left, 262144))):
        left -= len(piece)
        yield piece


def pieces_of_chunks(stream):
    while (size := int(stream.readline(), 16)):
        yield from pieces_of_length(stream, size)
        if stream.readline() != b"\r\n":
            raise ValueError("chunk without an end")
    if stream.readline() != b"\r\n":
        raise ValueError("last chunk without an end")


def body_matches(stream, fields, total):
    """Reads a body as it is framed; True when it is the pattern, whole."""
    try:
        if fields.get(b"transfer-encoding") == b"chunked":
            return Pattern(total).matches(pieces_of_chunks(stream))
        if fields.get(b"content-length") == b"%d" % total:
            return Pattern(total).matches(pieces_of_length(stream, total))
    except (ValueError, OSError):
        pass
    return False


def serve(listener, framing, total):
    """The origin: GET sends the pattern; POST compares it and answers with the outcome."""
    connection, unused = listener.accept()
    connection.settimeout(PATIENCE)
    with connection, connection.makefile("rb", buffering=262144) as stream:
        start, fields = read_head(stream)
        if start.startswith(b"GET "):
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + body_fields(framing, total) + b"\r\n")
            send_body(connection, framing, total)
        else:
            word = b"exact" if body_matches(stream, fields, total) else b"wrong"
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + word)
        stream.read(1)


def transfer(weir, port, direction, framing, total):
    """The client; True when every byte arrived."""
    with socket.create_connection(weir.address, PATIENCE) as connection, \
            connection.makefile("rb", buffering=262144) as stream:
        method = b"GET" if direction == "download" else b"POST"
        fields = b"" if direction == "download" else body_fields(framing, total)
        connection.sendall(b"%s http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n"
                           % (method, port, port, fields))
        if direction == "upload":
            send_body(connection, framing, total)
        start, fields = read_head(stream)
        if not start.startswith(b"HTTP/1.1 200 "):
            return False
        if direction == "download":
            return body_matches(stream, fields, total)
        return stream.read(5) == b"exact"


def measure(path, direction, framing, total):
    """One transfer through a weir of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        origin = multiprocessing.get_context("fork").Process(
            target=serve, args=(listener, framing, total), daemon=True)
        origin.start()
    weir = program.Weir("-l", "127.0.0.1:0", program=path)
    try:
        begin = time.monotonic()
        exact = transfer(weir, port, direction, framing, total)
        seconds = time.monotonic() - begin
        weir.check()
        peak = weir.memory("VmHWM")
    finally:
        weir.stop()
        origin.terminate()
        origin.join()
    return Outcome(direction, framing, total, exact, seconds, peak)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mebibytes", type=int, default=2048)
    parser.add_argument("--peak", type=int, default=16, help="mebibytes that weir must stay below")
    parser.add_argument("--weir", default=None, help="default: the release build")
    arguments = parser.parse_args()
    good = True
    for direction in DIRECTIONS:
        for framing in FRAMINGS:
            outcome = measure(arguments.weir or program.release_path(), direction, framing,
                              arguments.mebibytes * MEBIBYTE)
            good = good and outcome.exact and outcome.peak < arguments.peak * MEBIBYTE
            print(f"{direction} {framing} {arguments.mebibytes} MiB: "
                  f"{'byte-exact' if outcome.exact else 'WRONG'}, {outcome.seconds:.1f} s, "
                  f"{arguments.mebibytes / outcome.seconds:.0f} MiB/s, "
                  f"peak memory {outcome.peak / MEBIBYTE:.1f} MiB", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
