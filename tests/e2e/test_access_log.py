"""The access log: one line for every exchange, whatever became of it, and nothing forged in it."""
import datetime
import json
import os
import re
import signal
import stat
import subprocess
import threading
import time

import pytest

from admin import Admin
from client import Client
from message import chunked
from origin import always, default, echo, ok
from program import run

JSON_KEYS = ["time", "id", "client", "user", "method", "target", "authority", "version", "status",
             "request_bytes", "response_bytes", "dns_ms", "connect_ms", "first_byte_ms", "total_ms",
             "server", "by", "why", "attempts", "reused", "referer", "user_agent"]


def wait_for(condition, what, seconds=8):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


class Log:
    """A weir with an access log, and what is in the log."""

    def __init__(self, start_weir, directory, format="json", file=None, more="", text="",
                 workers=1, **options):
        self.directory = directory
        self.file = directory / "access.log" if file is None else file
        self.configuration = directory / "weir.yaml"
        self.workers = workers
        self.write(format, more, text)
        self.weir = start_weir("-c", str(self.configuration), **options)
        self.address = self.weir.address

    def write(self, format, more="", text=""):
        to = f"file: '{self.file}', " if self.file else ""
        self.configuration.write_text(
            f"workers: {self.workers}\nlisten: [ {{ address: 127.0.0.1:0 }} ]\n"
            f"log: {{ level: debug, access: {{ {to}format: '{format}'{more} }} }}\n{text}")

    def raw(self):
        return self.file.read_bytes()

    def lines(self, count=None):
        """All lines, once there are so many; each ends with a line end."""
        if count is not None:
            wait_for(lambda: self.raw().count(b"\n") >= count, f"{count} lines: {self.raw()!r}")
        raw = self.raw()
        assert raw.endswith(b"\n") or not raw
        lines = raw.decode().split("\n")[:-1]
        assert count is None or len(lines) == count, lines
        return lines

    def entries(self, count):
        return [json.loads(line) for line in self.lines(count)]

    def entry(self):
        return self.entries(1)[0]

    def totals(self):
        """What weir counted; it has ended."""
        return {found[1]: int(found[2]) for found in
                re.finditer(r"total (\w+): (\d+)", self.weir.said())}


@pytest.fixture
def log_of(start_weir, tmp_path):
    return lambda *arguments, **options: Log(start_weir, tmp_path, *arguments, **options)


def get(url, *fields, method=b"GET"):
    lines = b"".join(field + b"\r\n" for field in fields)
    return b"%s %s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (method, url.encode(), lines)


def ask(log, *pieces, **options):
    with Client(log.address) as client:
        return client.ask(*pieces, **options)


# --- formats

CLF = (r'127\.0\.0\.1 - - \[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] '
       r'"((?:[^"\\]|\\x[0-9a-f]{2})*)" (\d{3}|-) (\d+)')


def test_common(log_of, make_origin):
    origin = make_origin()
    log = log_of("common", TZ="ABC-05:45")
    url = origin.url("/a?b=c")
    before = int(time.time())
    ask(log, get(url, b"User-Agent: test"))
    found = re.fullmatch(CLF, log.lines(1)[0])
    assert found[2] == f"GET {url} HTTP/1.1"
    assert (found[3], found[4]) == ("200", "6")
    when = datetime.datetime.strptime(found[1], "%d/%b/%Y:%H:%M:%S %z")
    assert found[1].endswith(" +0545")
    assert before <= when.timestamp() <= time.time()


def test_combined(log_of, make_origin):
    origin = make_origin()
    log = log_of("combined")
    ask(log, get(origin.url(), b'User-Agent: say "hi" \\ \xc3\xa9 \xff', b"Referer: http://a/?b"))
    ask(log, get(origin.url()))
    first, second = log.lines(2)
    assert re.fullmatch(
        CLF + r' "http://a/\?b" "say \\x22hi\\x22 \\x5c \u00e9 \\xff"', first), first
    assert re.fullmatch(CLF + ' "-" "-"', second), second


def test_json(log_of, make_origin):
    origin = make_origin()
    log = log_of("json")
    url = origin.url("/path")
    before = datetime.datetime.now(datetime.timezone.utc)
    ask(log, get(url, b'User-Agent: a "b" \\ \xc3\xa9 \xff\t.', b"Referer: r"))
    entry = log.entry()
    assert list(entry) == JSON_KEYS
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", entry["time"])
    when = datetime.datetime.fromisoformat(entry["time"].replace("Z", "+00:00"))
    assert before <= when <= datetime.datetime.now(datetime.timezone.utc)
    authority = origin.authority.decode()
    expected = {"id": "0-1", "client": "127.0.0.1", "user": None, "method": "GET", "target": url,
                "authority": authority, "version": "1.1", "status": 200, "request_bytes": 0,
                "response_bytes": 5, "dns_ms": None, "server": authority, "by": "server",
                "why": "ok", "attempts": 1, "reused": False, "referer": "r",
                "user_agent": 'a "b" \\ \u00e9 \u00ff\t.'}
    assert {key: entry[key] for key in expected} == expected
    assert 0 < entry["connect_ms"] < entry["total_ms"]
    assert 0 < entry["first_byte_ms"] < entry["total_ms"] < 8000


def test_template(log_of, make_origin):
    origin = make_origin(always(ok(b"x", b"X-One: 1\r\nX-One: 2\r\nX-Text: c d\r\n")))
    log = log_of('<{method} {status} {request:user-agent} "{response:X-Text}"\t{response:x-one} '
                 '{response:none} {{{worker}}}>')
    ask(log, get(origin.url(), b"User-Agent: a b"))
    assert log.lines(1) == ['<GET 200 a\\x20b "c d"\t1,\\x202 - {0}>']


def test_times(log_of, make_origin):
    """Each phase has its share, to the millisecond."""
    def slow(connection):
        while connection.request():
            time.sleep(0.2)
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
            time.sleep(0.3)
            connection.send(b"b")
    origin = make_origin(slow)
    log = log_of("json")
    with Client(log.address) as client:
        url = f"http://localhost:{origin.port}/"
        client.ask(get(url))
        client.ask(get(url))
    first, second = log.entries(2)
    assert first["dns_ms"] > 0 and first["connect_ms"] > 0
    assert (second["dns_ms"], second["connect_ms"]) == (None, None)
    for entry in first, second:
        assert 200 <= entry["first_byte_ms"] < 490
        assert 500 <= entry["total_ms"] < 4000
    assert (first["reused"], second["reused"]) == (False, True)


# --- every kind of ending

def test_bodies_and_methods(log_of, make_origin):
    origin = make_origin(echo)
    log = log_of("json")
    with Client(log.address) as client:
        client.ask(get(origin.url(), b"Content-Length: 5", method=b"POST") + b"hello")
        client.ask(get(origin.url(), b"Transfer-Encoding: chunked", method=b"PUT")
                   + chunked(b"abc", b"defg"))
        client.ask(get(origin.url(), method=b"DELETE"))
    entries = log.entries(3)
    assert [(e["method"], e["status"], e["request_bytes"], e["response_bytes"]) for e in entries] \
        == [("POST", 200, 5, 5), ("PUT", 200, 7, 7), ("DELETE", 200, 0, 0)]
    assert [e["id"] for e in entries] == ["0-1", "0-2", "0-3"]


def test_head_and_no_content(log_of, make_origin):
    origin = make_origin(default)
    empty = make_origin(always(b"HTTP/1.1 204 No Content\r\n\r\n"))
    log = log_of("json")
    with Client(log.address) as client:
        client.ask(get(origin.url("/long"), method=b"HEAD"))
        client.ask(get(empty.url()))
    head, nothing = log.entries(2)
    assert (head["method"], head["status"], head["response_bytes"]) == ("HEAD", 200, 0)
    assert (nothing["status"], nothing["response_bytes"], nothing["why"]) == (204, 0, "ok")


def test_tunnel(log_of, make_origin):
    def talk(connection):
        assert connection.reader.take(4) == b"ping"
        connection.send(b"pong!")
        connection.half_close()
        connection.wait_end()
    origin = make_origin(talk)
    log = log_of("json")
    with Client(log.address) as client:
        client.connect(origin.authority)
        client.send(b"ping")
        assert client.reader.take(5) == b"pong!"
        assert log.lines() == [], "the tunnel has not ended"
        client.half_close()
        assert client.ended()
    entry = log.entry()
    assert (entry["method"], entry["target"]) == ("CONNECT", origin.authority.decode())
    assert (entry["status"], entry["request_bytes"], entry["response_bytes"]) == (200, 4, 5)
    assert (entry["by"], entry["why"]) == ("server", "ok")


def test_pipelined(log_of, make_origin):
    origin = make_origin()
    log = log_of("json")
    with Client(log.address) as client:
        client.send(b"".join(get(origin.url(f"/{i}")) for i in range(20)))
        for i in range(20):
            assert client.response().body == b"/%d" % i
    assert [entry["target"] for entry in log.entries(20)] == [origin.url(f"/{i}") for i in range(20)]


REFUSED = {
    "malformed": (b"GET nonsense\r\n\r\n", 400, "malformed", None),
    "no start": (b"\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n", 400, "malformed", None),
    "bare CR": (b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: a\rb\r\n\r\n", 400, "malformed",
                None),
    "not for a proxy": (b"GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n", 400, "not_a_proxy_request",
                        "/x"),
    "too long": (b"GET http://a.test/%s HTTP/1.1\r\nHost: a.test\r\n\r\n" % (b"a" * 9000), 414,
                 "target_too_long", None),
    "too large": (b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: %s\r\n\r\n" % (b"a" * 70000),
                  431, "head_too_large", None),
    "version": (b"GET http://a.test/ HTTP/2.0\r\nHost: a.test\r\n\r\n", 505, "version_unsupported",
                None),
    "scheme": (b"GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 501, "not_implemented",
               "ftp://a.test/"),
    "port": (b"CONNECT a.test:25 HTTP/1.1\r\nHost: a.test:25\r\n\r\n", 403, "http_request_denied",
             "a.test:25"),
    "name": (b"GET http://no-such.invalid/ HTTP/1.1\r\nHost: no-such.invalid\r\n\r\n", 502,
             "dns_error", "http://no-such.invalid/"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(log_of, name):
    request, status, why, target = REFUSED[name]
    log = log_of("json")
    assert ask(log, request, method=b"GET").status == status
    entry = log.entry()
    assert (entry["status"], entry["by"], entry["why"]) == (status, "weir", why)
    assert (entry["target"], entry["server"]) == (target, None)
    assert entry["response_bytes"] > 0


def test_head_that_does_not_come(log_of):
    log = log_of("json", text="timeouts: { head: 300ms }\n")
    with Client(log.address) as client:
        client.send(b"GET http://a.test/ HTTP/1.1\r\n")
        assert client.response().status == 408
    entry = log.entry()
    assert (entry["status"], entry["why"], entry["method"]) == (408, "head_timeout", None)


def test_server_that_refuses(log_of, closed_port):
    log = log_of("json")
    assert ask(log, get(f"http://127.0.0.1:{closed_port}/")).status == 502
    entry = log.entry()
    assert (entry["by"], entry["why"], entry["attempts"]) == ("weir", "connection_refused", 1)
    assert entry["connect_ms"] > 0 and entry["dns_ms"] is None and entry["first_byte_ms"] is None


def closing(*pieces):
    def handler(connection):
        connection.request()
        connection.send(*pieces)
    return handler


@pytest.mark.parametrize("answer, status, why, by, got", [
    (b"", 502, "connection_terminated", "weir", None),
    (b"HTTP/1.1 200", 502, "truncated", "weir", None),
    (b"nonsense\r\n\r\n", 502, "http_protocol_error", "weir", None),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", 200, "truncated", "server", 4),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", 200, "truncated",
     "server", 4),
])
def test_server_that_breaks_off(log_of, make_origin, answer, status, why, by, got):
    origin = make_origin(closing(answer))
    log = log_of("json")
    response = ask(log, get(origin.url()))
    assert response.status == status
    entry = log.entry()
    assert (entry["status"], entry["why"], entry["by"]) == (status, why, by)
    assert entry["server"] == origin.authority.decode()
    assert got is None or entry["response_bytes"] == got


def test_server_that_does_not_answer(log_of, make_origin):
    origin = make_origin(lambda connection: connection.request() and connection.wait_end())
    log = log_of("json", text="timeouts: { response: 300ms }\n")
    assert ask(log, get(origin.url())).status == 504
    entry = log.entry()
    assert (entry["status"], entry["why"], entry["by"]) == (504, "http_response_timeout", "weir")
    assert entry["first_byte_ms"] is None and entry["total_ms"] >= 300


@pytest.mark.parametrize("how", ["end", "reset"])
def test_client_that_leaves_before_the_answer(log_of, make_origin, how):
    origin = make_origin(lambda connection: connection.request() and connection.wait_end())
    log = log_of("json")
    client = Client(log.address)
    client.send(get(origin.url(), b"Content-Length: 5", method=b"POST") + b"ab")
    origin.wait(lambda: origin.connections and b"ab" in origin.connections[0].received)
    client.reset() if how == "reset" else client.close()
    entry = log.entry()
    assert (entry["status"], entry["by"]) == (None, None) or entry["status"] == 400
    assert entry["why"] in ("reset", "request_truncated", "truncated")
    assert entry["request_bytes"] == 2


def test_client_that_leaves_within_the_answer(log_of, make_origin):
    def endless(connection):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            connection.send(b"x" * 65536)
    origin = make_origin(endless)
    log = log_of("json")
    with Client(log.address) as client:
        client.send(get(origin.url()))
        client.reader.take(300000)
        client.reset()
    entry = log.entry()
    assert (entry["status"], entry["by"], entry["why"]) == (200, "server", "reset")
    assert entry["response_bytes"] >= 290000


def test_request_that_is_repeated(log_of, make_origin):
    """A kept connection that died: the second attempt is on a new one."""
    def once(connection):
        connection.request()
        connection.send(ok())
        if connection.number == 0:
            connection.request()
        else:
            connection.wait_end()
    origin = make_origin(once)
    log = log_of("json")
    with Client(log.address) as client:
        assert client.ask(get(origin.url("/1"))).status == 200
        assert client.ask(get(origin.url("/2"))).status == 200
    first, second = log.entries(2)
    assert (first["attempts"], first["reused"]) == (1, False)
    assert (second["attempts"], second["reused"], second["status"]) == (2, False, 200)
    assert second["connect_ms"] > 0


def test_weir_answers_itself(log_of):
    log = log_of("json")
    response = ask(log, b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
    entry = log.entry()
    assert (entry["status"], entry["by"], entry["why"]) == (response.status, "weir", "ok")
    assert (entry["target"], entry["attempts"]) == ("*", 0)


def test_upgrade(log_of, make_origin):
    def handler(connection):
        connection.request_head()
        connection.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
                        b"Upgrade: websocket\r\n\r\n")
        connection.send(connection.reader.take(3))
    origin = make_origin(handler)
    log = log_of("json")
    with Client(log.address) as client:
        client.send(get(origin.url("/ws"), b"Connection: upgrade", b"Upgrade: websocket"))
        assert client.response().status == 101
        client.send(b"abc")
        assert client.reader.take(3) == b"abc"
    entry = log.entry()
    assert (entry["status"], entry["target"]) == (101, origin.url("/ws"))
    assert (entry["request_bytes"], entry["response_bytes"]) == (3, 3)


# --- nothing is forged

HOSTILE = [b'" 200 5 "', b"\\", b'\\" \\n', b"a\tb", b"\xff\xfe", b"\xc3", b"\xc2\x85", b"\xc2\x9b31m",
           b"\xe2\x80\xa8", b"\xe2\x80\xae", b'","status":200,"x":"', b"%0a%0d", b"{client}",
           b"\xf0\x9f\x98\x80", b" a " * 50, b'"' * 3000, b"\xff" * 2000]


@pytest.mark.parametrize("format", ["common", "combined", "json", "{status} {request:X} {path} .",
                                    '"{request:X}" {client} "{path}"'])
def test_hostile_values(log_of, make_origin, format):
    origin = make_origin(always(ok(b"x")))
    log = log_of(format)
    with Client(log.address) as client:
        for value in HOSTILE:
            path = re.sub(rb"[ \t\x80-\xff]", b"", value)
            answer = client.ask(get(origin.url("/"), b"X: " + value, b"User-Agent: " + value,
                                    b"Referer: " + value).replace(b"/ HTTP", b"/" + path + b" HTTP"))
            assert answer.status == 200, value
    lines = log.lines(len(HOSTILE))
    for line in lines:
        assert not re.search("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e]", line), line
        assert len(line.splitlines()) == 1
        if format == "json":
            assert list(json.loads(line)) == JSON_KEYS
        elif "X} {path" in format:
            assert re.fullmatch(r'200 [^ "]+ /[^ "]* \.', line), line
        elif "client" in format:
            assert re.fullmatch(r'"[^"]*" 127\.0\.0\.1 "/[^"]*"', line), line
        else:
            assert re.fullmatch(CLF + ('( "[^"]*"){2}' if format == "combined" else ""), line), line


def test_what_was_sent_can_be_read_from_json(log_of, make_origin):
    origin = make_origin(always(ok(b"x")))
    log = log_of("json")
    with Client(log.address) as client:
        for value in HOSTILE:
            client.ask(get(origin.url(), b"User-Agent: " + value))
    for entry, value in zip(log.entries(len(HOSTILE)), HOSTILE):
        value = value.strip()
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        assert entry["user_agent"] == text


def test_long_lines_are_cut_and_whole(log_of, make_origin):
    origin = make_origin(always(ok(b"x")))
    log = log_of("json")
    ask(log, get(origin.url(), b"User-Agent: " + b'"' * 30000, b"Referer: end"))
    line = log.lines(1)[0]
    assert 16000 < len(line) < 16384
    entry = json.loads(line)
    assert entry["user_agent"].endswith('""[cut]')
    assert (entry["referer"], entry["status"]) == ("end", 200)


# --- none is lost

def hammer(address, url, requests, done):
    with Client(address) as client:
        for i in range(requests):
            assert client.ask(get(f"{url}{i}")).status == 200
            done.append(i)


def test_as_many_lines_as_exchanges(log_of, make_origin):
    origin = make_origin(always(ok(b"x")))
    log = log_of("json", workers=2)
    clients, requests, done = 24, 40, []
    threads = [threading.Thread(target=hammer, args=(log.address, origin.url(f"/{i}-"), requests,
                                                     done)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    log.weir.stop()      # what is not a second old yet is flushed at the end
    entries = [json.loads(line) for line in log.lines()]
    total = clients * requests
    assert len(done) == len(entries) == log.totals()["exchanges"] == len(origin.requests) == total
    assert {entry["target"] for entry in entries} == \
        {origin.url(f"/{i}-{j}") for i in range(clients) for j in range(requests)}
    assert len({entry["id"] for entry in entries}) == total
    assert {entry["id"].split("-")[0] for entry in entries} == {"0", "1"}
    assert log.totals()["access_lines_dropped"] == 0


def test_rotation_loses_nothing(log_of, make_origin):
    origin = make_origin(always(ok(b"x")))
    log = log_of("json", workers=2)
    done, moved = [], []
    threads = [threading.Thread(target=hammer, args=(log.address, origin.url(f"/{i}-"), 150, done))
               for i in range(4)]
    for thread in threads:
        thread.start()
    for i in range(5):
        wait_for(lambda: len(done) > 100 * i, "requests")
        moved.append(log.file.rename(f"{log.file}.{i}"))
        log.weir.process.send_signal(signal.SIGUSR1)
        wait_for(log.file.exists, "the file to be there again")
    for thread in threads:
        thread.join(60)
    log.weir.stop()
    pieces = [file.read_bytes() for file in [*moved, log.file]]
    assert all(piece.endswith(b"\n") or not piece for piece in pieces)
    entries = [json.loads(line) for line in b"".join(pieces).splitlines()]
    assert {entry["target"] for entry in entries} == \
        {origin.url(f"/{i}-{j}") for i in range(4) for j in range(150)}
    assert len(entries) == 600 == log.totals()["exchanges"]


def test_lines_come_within_a_second_or_so(log_of, make_origin):
    origin = make_origin()
    log = log_of("json")
    ask(log, get(origin.url()))
    start = time.monotonic()
    log.lines(1)
    assert time.monotonic() - start < 3


def test_what_is_ended_by_stopping_is_logged(log_of, make_origin):
    """The second SIGTERM ends open tunnels; each has its line."""
    origin = make_origin(lambda connection: connection.wait_end())
    log = log_of("json", workers=2)
    clients = [Client(log.address) for unused in range(40)]
    for client in clients:
        client.connect(origin.authority)
    log.weir.terminate()
    log.weir.wait(lambda: "stopping on" in log.weir.said(), "it to stop", 5)
    log.weir.stop()
    for client in clients:
        client.close()
    entries = [json.loads(line) for line in log.lines()]
    assert len(entries) == 40 == log.totals()["exchanges"]
    assert {entry["why"] for entry in entries} == {"stopping"}


def test_sampling(log_of, make_origin, closed_port):
    origin = make_origin(always(ok(b"x")))
    missing = make_origin(always(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
    log = log_of("json", more=", sample: 10")
    with Client(log.address) as client:
        for i in range(50):
            client.ask(get(origin.url(f"/{i}")))
            if i % 10 == 5:
                client.ask(get(missing.url(f"/{i}")))
                client.ask(get(f"http://127.0.0.1:{closed_port}/"))
    statuses = [entry["status"] for entry in log.entries(15)]
    assert (statuses.count(200), statuses.count(404), statuses.count(502)) == (5, 5, 5)


# --- the file

def test_file_is_appended_to_and_not_for_everybody(log_of, make_origin, tmp_path):
    origin = make_origin()
    (tmp_path / "access.log").write_text("before\n")
    log = log_of("common")
    ask(log, get(origin.url()))
    assert log.lines(2)[0] == "before"
    log.file.rename(tmp_path / "moved")
    log.weir.process.send_signal(signal.SIGUSR1)
    wait_for(log.file.exists, "the new file")
    mode = stat.S_IMODE(log.file.stat().st_mode)
    assert mode & ~0o640 == 0 and mode & 0o600 == 0o600


def test_file_that_cannot_be_opened(tmp_path):
    (tmp_path / "weir.yaml").write_text(
        f"listen: [ {{ address: 127.0.0.1:0 }} ]\nlog: {{ access: {{ file: {tmp_path}/no/a.log }} }}\n")
    ended = run("-c", str(tmp_path / "weir.yaml"))
    assert ended.returncode == 1
    assert f"cannot open the access log {tmp_path}/no/a.log: No such file" in ended.stderr


def test_reopening_that_fails_keeps_the_file(log_of, make_origin, tmp_path):
    origin = make_origin()
    directory = tmp_path / "logs"
    directory.mkdir()
    log = log_of("json", file=directory / "access.log")
    directory.rename(tmp_path / "away")
    log.weir.process.send_signal(signal.SIGUSR1)
    log.weir.wait(lambda: "cannot open the access log" in log.weir.said(), "an error", 5)
    ask(log, get(origin.url()))
    log.file = tmp_path / "away" / "access.log"
    assert log.entry()["status"] == 200


def test_unknown_field_is_a_mistake(tmp_path):
    file = tmp_path / "weir.yaml"
    file.write_text("log:\n  access:\n    format: '{client} {stauts}'\n")
    ended = run("-c", str(file))
    assert ended.returncode == 78
    assert f"{file}:3:13: log.access.format:" in ended.stderr
    assert 'did you mean "status"?' in ended.stderr


def test_off_is_off(start_weir, make_origin, tmp_path):
    origin = make_origin()
    weir = start_weir("-l", "127.0.0.1:0")
    with Client(weir.address) as client:
        client.ask(get(origin.url()))
    weir.process.send_signal(signal.SIGUSR1)   # nothing to reopen
    with Client(weir.address) as client:
        assert client.ask(get(origin.url())).status == 200


def test_reload_changes_format_and_file(log_of, make_origin, tmp_path):
    origin = make_origin()
    log = log_of("{method}", workers=2)
    old = log.file
    ask(log, get(origin.url()))
    assert log.lines(1) == ["GET"]
    log.file = tmp_path / "other.log"
    log.write("<{status}>")
    log.weir.reload()
    ask(log, get(origin.url()))
    assert log.lines(1) == ["<200>"]
    log.configuration.write_text("workers: 2\nlisten: [ { address: 127.0.0.1:0 } ]\n")
    log.weir.reload()
    with Client(log.weir.addresses[-1]) as client:
        assert client.ask(get(origin.url())).status == 200
    log.weir.stop()
    assert log.lines() == ["<200>"] and old.read_text() == "GET\n"


# --- standard output, and what is slow or full

def to_standard_output(target):
    """Prefix that gives weir that standard output."""
    return ("sh", "-c", f'exec "$0" "$@" > {target}')


@pytest.mark.parametrize("named", ["", "-"])
def test_standard_output(log_of, make_origin, tmp_path, named):
    origin = make_origin()
    log = log_of("{status} {method}", file=named, prefix=to_standard_output(tmp_path / "out"))
    ask(log, get(origin.url()))
    log.file = tmp_path / "out"
    assert log.lines(1) == ["200 GET"]


def long_requests(log, origin, count):
    with Client(log.address) as client:
        for i in range(count):
            assert client.ask(get(origin.url(f"/{i}-" + "x" * 8000))).status == 200


def test_reader_that_stops_stops_nobody(log_of, make_origin, tmp_path):
    """A pipe that nobody reads: requests go on, signals are heard, what is read later is whole."""
    origin = make_origin(always(ok(b"x")))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    log = log_of("{path}", file=pipe)
    long_requests(log, origin, 60)      # 480 KB, a pipe holds 64
    time.sleep(1.5)
    log.weir.reload()                   # the main thread is alive
    long_requests(log, origin, 1)
    got = bytearray()

    def read():
        try:
            got.extend(os.read(reader, 65536))
        except BlockingIOError:
            pass
        return got.count(b"\n") >= 61
    wait_for(read, "what had to wait", 15)
    os.close(reader)
    assert [line.split(b"-")[0] for line in got.splitlines()] == \
        [b"/%d" % i for i in [*range(60), 0]]
    assert {len(line) for line in got.splitlines()} <= {8003, 8004}


def test_full_disk_is_survived(log_of, make_origin, tmp_path):
    """What the disk does not take waits; when there is room nothing was lost, and one was told."""
    origin = make_origin(always(ok(b"x")))
    link = tmp_path / "link.log"
    link.symlink_to("/dev/full")
    log = log_of("{path}", file=link)
    long_requests(log, origin, 20)
    log.weir.wait(lambda: "No space left on device" in log.weir.said(), "a warning", 5)
    long_requests(log, origin, 20)
    time.sleep(1.5)
    link.unlink()
    link.symlink_to(tmp_path / "room.log")
    log.weir.process.send_signal(signal.SIGUSR1)
    log.file = tmp_path / "room.log"
    wait_for(log.file.exists, "the new file")
    assert [line.split("-")[0] for line in log.lines(40)] == [f"/{i}" for i in [*range(20)] * 2]
    log.weir.stop()
    assert log.weir.said().count("No space left") == 1
    assert log.totals()["access_lines_dropped"] == 0


def test_disk_that_stays_full(log_of, make_origin, tmp_path):
    """Eight megabytes wait, the rest is dropped and counted, and so is at the end what waited."""
    origin = make_origin(always(ok(b"x")))
    log = log_of("{path}", file="/dev/full", text=f"admin: 'unix:{tmp_path}/admin'\n")
    long_requests(log, origin, 1200)
    counted = Admin(str(tmp_path / "admin")).metric("weir_access_lines_dropped_total")
    assert 1200 - 8 * 1024 * 1024 / 8000 <= counted <= 1200 - 7 * 1024 * 1024 / 8000
    log.weir.stop()
    dropped = [int(count) for count in
               re.findall(r"No space left on device, (\d+) lines dropped", log.weir.said())]
    assert len(dropped) <= 3 and sum(dropped) == 1200, log.weir.said()
    assert log.totals()["access_lines_dropped"] == 1200


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)],
                             capture_output=True)
    if mounted.returncode:
        pytest.skip("only root can mount a small file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_disk_that_becomes_full_within_a_line(log_of, make_origin, small_disk):
    """The file gets half a line, and its other half when there is room again."""
    origin = make_origin(always(ok(b"x")))
    (small_disk / "filler").write_bytes(b"x" * 140000)
    log = log_of("{path}", file=small_disk / "access.log")
    long_requests(log, origin, 25)
    log.weir.wait(lambda: "No space left on device" in log.weir.said(), "a warning", 5)
    assert not log.raw().endswith(b"\n"), "this test wants a line that was cut"
    (small_disk / "filler").unlink()
    assert [line.split("-")[0] for line in log.lines(25)] == [f"/{i}" for i in range(25)]
    assert {len(line) for line in log.lines()} <= {8003, 8004}
