"""HTTP/2 with real peers on both sides: curl and h2load as clients, nghttpd and nginx as servers."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

import pytest

import curl
import program
from certificates import Authority
from program import Weir
from web_server import WebServer

CONTENT = bytes(range(256)) * 4000    # 1 MB


def needs(name):
    return pytest.mark.skipif(not shutil.which(name), reason=f"there is no {name}")


class Nghttpd:
    """nghttpd on a port that the system picks, without TLS."""

    def __init__(self, directory):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        (directory / "file").write_bytes(CONTENT)
        self.process = subprocess.Popen(
            ["nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", str(directory), "--echo-upload",
             str(self.port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert time.monotonic() < end, "nghttpd does not start"
                time.sleep(0.02)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


@pytest.fixture(scope="module", params=[
    pytest.param("nghttpd", marks=needs("nghttpd")), "nginx", "nginx of HTTP/1.1"])
def server(request, tmp_path_factory):
    """Serves CONTENT at /file. Its protocol is what weir must be told."""
    directory = tmp_path_factory.mktemp("server")
    if request.param == "nghttpd":
        made = Nghttpd(directory)
    else:
        made = WebServer(directory, listen="" if "1.1" in request.param else "http2")
        made.file("file", CONTENT)
    made.protocol = "h1" if "1.1" in request.param else "h2"
    yield made
    made.stop()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def weir(server, authority, tmp_path_factory):
    """A reverse proxy, first without TLS and then with it."""
    file = tmp_path_factory.mktemp("weir") / "weir.yaml"
    certificate = authority.issue("localhost").yaml()
    file.write_text("workers: 1\nlisten:\n  - address: 127.0.0.1:0\n  - address: 127.0.0.1:0\n"
                    f"    tls: {{ certificates: [ {certificate} ] }}\nfixed_upstream: it\n"
                    f"upstream: {{ it: {{ servers: [ '127.0.0.1:{server.port}' ],"
                    f" protocol: {server.protocol} }} }}\n")
    weir = Weir("-c", str(file), listeners=2)
    yield weir
    weir.stop()


@pytest.fixture(params=["h2c", "tls", "http/1.1"])
def ask(request, weir, authority):
    """curl, in a version and with or without TLS; it says which version it has spoken."""
    version = "1.1" if request.param == "http/1.1" else "2"
    port = weir.addresses[request.param == "tls"][1]
    options = {"h2c": ["--http2-prior-knowledge"], "http/1.1": ["--http1.1"],
               "tls": ["--http2", "--cacert", str(authority.certificate)]}[request.param]
    scheme = "https" if request.param == "tls" else "http"

    def run(path, *arguments):
        done = curl.run(*options, "-w", "%{stderr}%{http_code} %{http_version}\n", *arguments,
                        f"{scheme}://localhost:{port}{path}")
        status, spoken = done.stderr.split()[-2:]
        assert spoken.decode() == version
        return int(status), done.stdout

    yield run
    weir.check()


def test_get(ask):
    assert ask("/file") == (200, CONTENT)
    assert ask("/missing")[0] == 404


def test_head(ask):
    status, head = ask("/file", "-I")
    assert status == 200 and b"content-length: %d\r\n" % len(CONTENT) in head.lower()


def test_upload(ask, server, tmp_path):
    """nghttpd sends back what it gets; nginx keeps it."""
    (tmp_path / "up").write_bytes(CONTENT)
    if isinstance(server, Nghttpd):
        assert ask("/echo", "-T", str(tmp_path / "up")) == (200, CONTENT)
    else:
        assert ask("/upload/up", "-T", str(tmp_path / "up"))[0] in (201, 204)
        assert ask("/upload/up")[1] == CONTENT


@needs("nghttp")
@pytest.mark.parametrize("server", ["nginx", "nginx of HTTP/1.1"], indirect=True, scope="module")
def test_answer_before_the_end_of_an_upload(weir, server, tmp_path):
    """nghttpd --echo-upload answers at the end. (curl 7.88 takes no such answer, be it nginx's own.)"""
    (tmp_path / "up").write_bytes(CONTENT * 4)
    done = subprocess.run(["nghttp", "-v", "-d", str(tmp_path / "up"),
                           f"http://{weir.authority}/missing"], timeout=20, capture_output=True,
                          text=True, env=program.environment())
    assert re.search(r":status: .*40[45]", done.stdout), done.stdout
    assert "END_STREAM" in done.stdout.rpartition("recv DATA")[2]
    weir.check()


def test_many_at_once(weir, authority, tmp_path):
    """With TLS: curl 7.88 does so on none of its connections by prior knowledge."""
    curl.run("--http2", "--cacert", str(authority.certificate), "--parallel", "--parallel-max",
             "50", "-o", str(tmp_path / "#1"),
             f"https://localhost:{weir.addresses[1][1]}/file?[0-49]")
    files = list(tmp_path.iterdir())
    assert len(files) == 50 and {file.read_bytes() for file in files} == {CONTENT}
    weir.check()


def load(weir, scheme, path, count):
    """h2load takes any certificate."""
    port = weir.addresses[scheme == "https"][1]
    done = subprocess.run(["h2load", "-n", str(count), "-c", "6", "-m", "20",
                           f"{scheme}://127.0.0.1:{port}{path}"], timeout=60,
                          env=program.environment(), capture_output=True, text=True)
    assert f"{count} total, {count} started, {count} done" in done.stdout, done.stdout
    assert "0 errored, 0 timeout" in done.stdout, done.stdout
    assert scheme == "http" or "Application protocol: h2" in done.stdout
    weir.check()
    return done.stdout


@needs("h2load")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_load(weir, scheme):
    assert "status codes: 0 2xx, 0 3xx, 600 4xx, 0 5xx" in load(weir, scheme, "/missing", 600)
    said = load(weir, scheme, "/file", 60)
    assert "status codes: 60 2xx," in said and f"({60 * len(CONTENT)}) data" in said


# the proxy is HTTP/2 with TLS, what is asked for is in a tunnel

def curl_with_proxy_http2():
    """The first curl that can, of those on the PATH and of what `./dev peers` has unpacked."""
    folders = [*os.get_exec_path(), os.environ.get("WEIR_PEERS", "")]
    for program_file in (pathlib.Path(folder) / "curl" for folder in folders):
        if os.access(program_file, os.X_OK):
            known = subprocess.run([program_file, "--help", "all"], capture_output=True, text=True)
            if "--proxy-http2" in known.stdout:
                return str(program_file)
    return None


@pytest.mark.skipif(not curl_with_proxy_http2(),
                    reason="no curl here knows --proxy-http2; ./dev peers unpacks one")
def test_connect_inside_http2(start_weir, authority, web_server, tmp_path):
    web_server.file("file", CONTENT)
    log, file = tmp_path / "access.log", tmp_path / "weir.yaml"
    file.write_text("listen:\n  - address: 127.0.0.1:0\n    tls: { certificates: [ "
                    f"{authority.issue('proxy').yaml()} ] }}\n"
                    "log: { access: { format: '{version} {method} {status}', "
                    f"file: {log} }} }}\n")
    weir = start_weir("-c", str(file))
    done = subprocess.run(
        [curl_with_proxy_http2(), "-sS", "--max-time", "20", "--proxy-http2", "--proxytunnel",
         "--proxy", f"https://localhost:{weir.address[1]}", "--proxy-cacert",
         str(authority.certificate), web_server.url("/file")], capture_output=True, timeout=30,
        env=program.environment())
    assert done.stdout == CONTENT, done.stderr
    weir.stop()
    assert re.search(r"^(HTTP/)?2(\.0)? CONNECT 200$", log.read_text(), re.M), log.read_text()
