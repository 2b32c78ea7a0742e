"""Hostile clients of HTTP/2, frame by frame: each has a limit, a reason in the log and in the metrics."""
import contextlib
import json
import pathlib
import socket
import struct
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))

import attackers  # noqa: E402
from admin import Admin  # noqa: E402
from attackers import (CANCEL, CONTINUATION, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE,  # noqa: E402
                       PING, RST_STREAM, SETTINGS, frame, literal)
from origin import ok  # noqa: E402

GOAWAY = 7
CALM = 11  # ENHANCE_YOUR_CALM
CONFIGURATION = """
listen: [ {{ address: 127.0.0.1:0 }} ]
workers: 1
admin: "unix:{admin}"
log: {{ level: info, access: {{ format: json, file: {log} }} }}
timeouts: {{ head: 500ms, exchange_idle: 500ms }}
limits: {{ resets: 50, control_frames: 50 }}
"""


@pytest.fixture
def hostile(start_weir, tmp_path):
    """A weir with tight limits; .log is its access log, .ended(reason) what it counted."""
    paths = {"admin": tmp_path / "admin.sock", "log": tmp_path / "access.log"}
    file = tmp_path / "weir.yaml"
    file.write_text(CONFIGURATION.format(**paths))
    weir = start_weir("-c", str(file))
    weir.log = paths["log"]
    weir.ended = lambda reason: (Admin(str(paths["admin"])).families()["weir_plugin_h2_calmed_total"]
                                 .samples.get(f'{{reason="{reason}"}}', 0))
    weir.port = weir.address[1]
    return weir


def request(stream, origin, path=b"/", flags=END_STREAM | END_HEADERS):
    block = literal(b":method", b"GET") + literal(b":scheme", b"http") \
        + literal(b":authority", origin.authority) + literal(b":path", path)
    return frame(HEADERS, flags, stream, block)


def frames_until_end(connection):
    """All frames that come before the connection ends, as (type, stream, payload)."""
    received = b""
    connection.settimeout(10)
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(65536):
            received += data
    frames = []
    while len(received) >= 9:
        length = int.from_bytes(received[:3], "big")
        frames.append((received[3], int.from_bytes(received[5:9], "big"), received[9:9 + length]))
        received = received[9 + length:]
    return frames


def goaway_code(frames):
    return next(struct.unpack(">I", payload[4:8])[0] for kind, _, payload in frames
                if kind == GOAWAY)


def attack(weir, data, settings=b""):
    with attackers.connect_h2(weir.port, settings) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(data)
        return frames_until_end(connection)


def test_rapid_reset_reaches_no_server(hostile, make_origin):
    origin = make_origin()
    frames = attack(hostile, b"".join(
        request(stream, origin) + frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL))
        for stream in range(1, 201, 2)))
    assert goaway_code(frames) == CALM
    assert hostile.ended("resets") == 1
    assert "limits.resets" in hostile.said()
    assert not origin.requests


def test_resets_of_what_a_server_works_on_count(hostile, make_origin):
    released = threading.Event()

    def handler(connection):
        while connection.request():
            released.wait(5)
            connection.send(ok())

    origin = make_origin(handler)
    with attackers.connect_h2(hostile.port) as connection:
        for number in range(51):
            stream = 2 * number + 1
            connection.sendall(request(stream, origin))
            if number < 3:
                origin.wait(lambda count=number + 1: len(origin.requests) >= count)
            connection.sendall(frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL)))
        assert goaway_code(frames_until_end(connection)) == CALM
    released.set()
    assert hostile.ended("resets") == 1


@pytest.mark.parametrize("kind, length", [(PING, 8), (SETTINGS, 0)])
def test_floods(hostile, kind, length):
    assert goaway_code(attack(hostile, frame(kind, 0, 0, bytes(length)) * 60)) == CALM
    assert hostile.ended("control_frames") == 1
    assert "limits.control_frames" in hostile.said()


def test_continuation_flood(hostile):
    attack(hostile, frame(HEADERS, 0, 1, b"\x82") + frame(CONTINUATION, 0, 1) * 100)
    assert hostile.ended("continuations") == 1
    assert "CONTINUATION" in hostile.said()


def test_a_header_section_that_does_not_end(hostile, make_origin):
    begin = time.monotonic()
    frames = attack(hostile, request(1, make_origin(), flags=END_STREAM))
    assert 0.3 < time.monotonic() - begin < 5
    assert goaway_code(frames) == CALM
    assert hostile.ended("head_timeout") == 1
    assert "timeouts.head" in hostile.said()


def test_a_client_that_opens_no_window(hostile, make_origin):
    """The limits of the exchange hold: its stream is reset, and the log says why."""
    origin = make_origin(lambda connection: (connection.request(), connection.send(ok(b"x" * 100000)),
                                             connection.wait_end()))
    with attackers.connect_h2(hostile.port, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)) as connection:
        connection.sendall(request(1, origin))
        hostile.settle(lambda: hostile.log.exists() and hostile.log.read_bytes(), "a line", 5)
        connection.shutdown(socket.SHUT_WR)
        frames = frames_until_end(connection)
    assert any(kind == RST_STREAM and stream == 1 for kind, stream, _ in frames)
    line = json.loads(hostile.log.read_text())
    assert (line["status"], line["why"], line["response_bytes"]) == (200, "idle_timeout", 0)


def test_the_log_says_what_a_malformed_request_got(hostile):
    """Its stream is reset: there is no status. Where there is an answer there is one."""
    block = literal(b":method", b"GET") + literal(b":scheme", b"http") + literal(b":authority", b"a")
    upper = block + literal(b":path", b"/") + literal(b"Upper", b"case")
    with attackers.connect_h2(hostile.port) as connection:
        connection.sendall(frame(HEADERS, END_STREAM | END_HEADERS, 1, upper)
                           + frame(HEADERS, END_STREAM | END_HEADERS, 3, block + literal(b":path", b"/#x")))
        hostile.settle(lambda: hostile.log.exists() and hostile.log.read_bytes().count(b"\n") == 2,
                       "two lines", 5)
        connection.shutdown(socket.SHUT_WR)
        frames = frames_until_end(connection)
    assert {stream for kind, stream, _ in frames if kind == RST_STREAM} == {1}
    assert {stream for kind, stream, _ in frames if kind == HEADERS} == {3}
    statuses = [json.loads(line) for line in hostile.log.read_text().splitlines()]
    assert sorted((line["status"] or 0, line["why"]) for line in statuses) == [
        (0, "malformed"), (400, "malformed")]
