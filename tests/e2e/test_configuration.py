"""The configuration file: it does what it says, and mistakes are told with place and remedy."""
import re
import socket
import time

import pytest

import program
from client import Client


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="weir.yaml"):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(file)
    return write_file


def get(origin, path="/"):
    return b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url(path).encode()


GOOD = [
    "listen:\n  - address: 127.0.0.1:0\n",
    "workers: 2\nlisten:\n  - address: 127.0.0.1:0\n  - address: \"[::1]:0\"\n",
    "workers: auto\nlog: { level: info }\nlisten: [ { address: 127.0.0.1:0 } ]\n",
    "# nothing but a remark\n", "", "listen:\n- {address: '127.0.0.1:0'}   # remark\n",
    "upstream:\n  app: { servers: [ 127.0.0.1:9000, app.test:80 ] }\nfixed_upstream: app\n",
    "timeouts: { head: 5s, idle: none, connect: 500ms, response: 5m, tunnel_idle: 2h }\n",
    "limits: { request_line: 4KiB, header: 16KiB, fields: 50 }\n",
    '{"workers": 1, "listen": [{"address": "127.0.0.1:0"}], "log": {"level": "debug"}}\n',
]


@pytest.mark.parametrize("text", GOOD)
def test_good_file_passes_the_check(write, text):
    done = program.run("check", "-c", write(text))
    assert done.returncode == 0, done.stderr
    assert "listening on" not in done.stderr, "a check must not open ports"


def test_check_does_not_care_for_taken_ports(write):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        text = "listen:\n  - address: 127.0.0.1:%d\n" % taken.getsockname()[1]
        assert program.run("check", "-c", write(text)).returncode == 0


# text, line and column of the mistake (0: anywhere), words that the message must have
BAD = [
    ("worker: 2\n", 1, 1, ["worker", "workers"]),
    ("workers: 2\nlog:\n  levle: info\n", 3, 3, ["levle", "level"]),
    ("listen:\n  - adress: 127.0.0.1:0\n", 2, 5, ["adress", "address"]),
    ("listne:\n  - address: 127.0.0.1:0\n", 1, 1, ["listne", "listen"]),
    ("upstream:\n  app: { server: [ 127.0.0.1:9000 ] }\n", 2, 10, ["server", "servers"]),
    ("completely_unknown_key: 1\n", 1, 1, ["completely_unknown_key"]),
    ("workers: two\n", 1, 10, ["workers", "two"]),
    ("workers: 0\n", 1, 10, ["workers", "0"]),
    ("workers: -1\n", 1, 10, ["workers", "-1"]),
    ("workers: 1.5\n", 1, 10, ["workers", "1.5"]),
    ("workers: 99999999999999999999\n", 1, 10, ["workers", "99999999999999999999"]),
    ("workers: [ 1 ]\n", 1, 10, ["workers"]),
    ("workers:\n", 1, 0, ["workers"]),
    ("log: { level: loud }\n", 1, 15, ["loud", "info", "error"]),
    ("log: info\n", 1, 6, ["log"]),
    ("listen: 127.0.0.1:0\n", 1, 9, ["listen"]),
    ("listen:\n  - address: 127.0.0.1\n", 2, 14, ["127.0.0.1", "port"]),
    ("listen:\n  - address: 127.0.0.1:99999\n", 2, 14, ["99999"]),
    ("listen:\n  - address: 127.0.0.1:80x\n", 2, 14, ["80x"]),
    ("listen:\n  - address: '::1:80'\n", 2, 14, ["::1:80"]),
    ("listen:\n  - 127.0.0.1:0\n", 2, 5, ["address"]),
    ("listen:\n  - {}\n", 2, 5, ["address"]),
    ("upstream:\n  app: { servers: [ nonsense ] }\n", 2, 21, ["nonsense"]),
    ("upstream:\n  app: { servers: [] }\n", 2, 19, ["servers"]),
    ("fixed_upstream: app\n", 1, 17, ["app"]),
    ("upstream:\n  app: { servers: [ a.test:80 ] }\nfixed_upstream: apq\n", 3, 17, ["apq", "app"]),
    ("upstream: { app: { servers: [ a.test:80 ] } }\n", 1, 13, ["app", "fixed_upstream"]),
    ("timeouts: { head: 5 parsecs }\n", 1, 19, ["5 parsecs"]),
    ("timeouts: { haed: 5s }\n", 1, 13, ["haed", "head"]),
    ("limits: { header: 1 }\n", 1, 19, ["1"]),
    ("workers: 1\nworkers: 2\n", 2, 1, ["workers"]),
    ("- workers: 1\n", 1, 1, []),
    ("just words\n", 1, 1, []),
    ("workers: 1\nlisten: [ {address: 127.0.0.1:0\n", 0, 0, []),
    ("workers: 1\n\tlisten: []\n", 2, 0, []),
    ("workers: *nowhere\n", 1, 0, []),
    (b"workers: 1\nlog: { level: \xff\xfe }\n", 0, 0, []),
    (b"\0\0\0\0", 0, 0, []),
]


@pytest.mark.parametrize("text, line, column, words", BAD)
def test_mistake_is_told_with_its_place(write, text, line, column, words):
    file = write(text)
    done = program.run("check", "-c", file)
    assert done.returncode == 78, (done.returncode, done.stderr)
    found = re.search(re.escape(file) + r":(\d+):(\d+): (.+)", done.stderr)
    assert found, done.stderr
    assert line in (0, int(found[1])), done.stderr
    assert column in (0, int(found[2])), done.stderr
    for word in words:
        assert word in found[3], (word, done.stderr)
    assert len(done.stderr.splitlines()) <= 6


def test_nearest_key_is_only_offered_when_it_is_near(write):
    def message(key):
        return program.run("check", "-c", write(f"{key}: 1\n")).stderr.replace(key, "")
    assert "workers" in message("wrokers")
    assert "workers" in message("Workers")
    assert "did you mean" not in message("zzzzzzzzzzzz").lower()


def test_every_mistake_is_told_not_only_the_first_or_the_first_is(write):
    """One mistake or all of them; but never the last one alone."""
    file = write("worker: 2\nlog: { level: loud }\n")
    assert f"{file}:1:1: " in program.run("check", "-c", file).stderr


@pytest.mark.parametrize("text", ["worker: 2\n", "workers: 1\nlisten: [ {address: 127.0.0.1:0\n"])
def test_weir_does_not_start_with_a_mistake(write, text):
    done = program.run("-l", "127.0.0.1:0", "-c", write(text))
    assert done.returncode == 78, (done.returncode, done.stderr)
    assert re.search(r"weir\.yaml:\d+:\d+: ", done.stderr), done.stderr
    assert "listening on" not in done.stderr


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_file_that_cannot_be_read(tmp_path, name):
    for arguments in (["check", "-c"], ["-l", "127.0.0.1:0", "-c"]):
        done = program.run(*arguments, str(tmp_path / name))
        assert done.returncode == 78, (done.returncode, done.stderr)
        assert str(tmp_path / name) in done.stderr


def test_aliases_that_multiply_are_bounded(write):
    """Nine levels of nine references each would be 400 million values."""
    text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
        "a%d: &a%d [%s]\n" % (n, n, ",".join(["*a%d" % (n - 1)] * 9)) for n in range(1, 10))
    begin = time.monotonic()
    assert program.run("check", "-c", write(text)).returncode == 78
    assert time.monotonic() - begin < 5


# what the file says is done

def test_listeners_and_workers_of_the_file(write, start_weir, make_origin):
    origin = make_origin()
    weir = start_weir("-c", write(GOOD[1]), listeners=2)
    assert [host for host, unused in weir.addresses] == ["127.0.0.1", "::1"]
    for address in weir.addresses:
        with Client(address) as client:
            assert client.ask(get(origin, "/file")).body == b"/file"


def test_upstream_of_the_file_makes_a_reverse_proxy(write, start_weir, make_origin):
    origin = make_origin()
    weir = start_weir("-c", write(
        "listen:\n  - address: 127.0.0.1:0\nfixed_upstream: app\n"
        "upstream:\n  app:\n    servers: [ %s ]\n" % origin.authority.decode()))
    with Client(weir.address) as client:
        assert client.ask(b"GET /x HTTP/1.1\r\nHost: site.test\r\n\r\n").body == b"/x"
    assert origin.requests[0].get(b"host") == b"site.test"


def test_limits_of_the_file(write, start_weir, make_origin):
    origin = make_origin()
    weir = start_weir("-c", write(GOOD[0] + "limits: { request_line: 1KiB, fields: 10 }\n"))
    with Client(weir.address) as client:
        assert client.ask(get(origin, "/" + "a" * 2000)).status == 414
    with Client(weir.address) as client:
        fields = b"".join(b"X-%d: 1\r\n" % number for number in range(10))
        assert client.ask(get(origin)[:-2] + fields + b"\r\n").status == 431
    assert not origin.connections


def test_options_win_over_the_file(write, start_weir, make_origin):
    wanted, unwanted = make_origin(), make_origin()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        file = write("listen:\n  - address: 127.0.0.1:%d\nfixed_upstream: app\n"
                     "upstream:\n  app:\n    servers: [ %s ]\n" % (taken.getsockname()[1], unwanted.authority.decode()))
        weir = start_weir("-c", file, "-l", "127.0.0.1:0", "-u", wanted.authority.decode())
        with Client(weir.address) as client:
            assert client.ask(b"GET /x HTTP/1.1\r\nHost: site.test\r\n\r\n").body == b"/x"
    assert len(weir.addresses) == 1
    assert not unwanted.connections


@pytest.mark.parametrize("level", ["error", "info", "debug"])
def test_listening_line_does_not_depend_on_the_log_level(write, start_weir, level):
    weir = start_weir("-c", write(GOOD[0] + f"log: {{ level: {level} }}\n"))
    assert weir.address[1] != 0
