"""The real curl through weir to a real nginx."""
import hashlib
import os

import pytest

import curl

WRITE = "%{http_code} %{num_connects}\n"


@pytest.fixture(scope="module")
def content():
    return os.urandom(3_000_001)


@pytest.fixture(scope="module", autouse=True)
def files(web_server, content):
    web_server.file("file", content)


def test_file_arrives_whole(weir, web_server, content):
    assert curl.run(web_server.url("/file"), proxy=weir).stdout == content


def test_head(weir, web_server, content):
    head = curl.run("-I", web_server.url("/file"), proxy=weir).stdout
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nContent-Length: %d\r\n" % len(content) in head
    assert b"\r\nVia: 1.1 " in head or b"\r\nvia: 1.1 " in head


def test_range(weir, web_server, content):
    done = curl.run("-r", "1000-1999", "-w", "%{stderr}%{http_code}", web_server.url("/file"),
                    proxy=weir)
    assert done.stdout == content[1000:2000] and done.stderr == b"206"


def test_not_modified(weir, web_server, tmp_path):
    target = str(tmp_path / "copy")
    curl.run("--etag-save", str(tmp_path / "tag"), "-o", target, web_server.url("/file"), proxy=weir)
    done = curl.run("--etag-compare", str(tmp_path / "tag"), "-w", "%{http_code}",
                    web_server.url("/file"), proxy=weir)
    assert done.stdout == b"304"


def test_no_content_and_redirect_over_one_connection(weir, web_server, content):
    done = curl.run("-L", "-w", "%{stderr}" + WRITE, "-o", "/dev/null", "-o", "/dev/null",
                    web_server.url("/nothing"), web_server.url("/moved"), proxy=weir)
    assert done.stderr.decode().splitlines() == ["204 1", "200 0"]


def test_many_requests_over_one_connection(weir, web_server):
    urls = [web_server.url(f"/target/{number}") for number in range(40)]
    done = curl.run("-w", "\n" + WRITE, *urls, proxy=weir).stdout.decode().splitlines()
    assert done[0::2] == [f"/target/{number}" for number in range(40)]
    assert done[1::2] == ["200 1"] + ["200 0"] * 39
    opened = {curl.run(web_server.url("/connection"), proxy=weir).stdout.split(b":")[0]
              for unused in range(5)}
    assert len(opened) == 1, "nginx saw a connection for each of curl's"


def test_many_requests_at_once(weir, web_server, tmp_path):
    curl.run("--parallel", "--parallel-max", "30", "-o", str(tmp_path / "#1"),
             web_server.url("/target/[0-59]"), proxy=weir)
    answers = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert answers == {str(number): f"/target/{number}" for number in range(60)}


@pytest.mark.parametrize("coding", [[], ["-H", "Transfer-Encoding: chunked"]])
@pytest.mark.parametrize("expect", ["Expect:", "Expect: 100-continue"])
def test_upload(weir, web_server, content, tmp_path, coding, expect):
    (tmp_path / "up").write_bytes(content)
    name = hashlib.sha1(repr((coding, expect)).encode()).hexdigest()
    done = curl.run("-T", str(tmp_path / "up"), *coding, "-H", expect, "-w", "%{http_code}",
                    web_server.url(f"/upload/{name}"), proxy=weir)
    assert done.stdout[-3:] == b"201"
    assert (web_server.directory / "www/upload" / name).read_bytes() == content
    assert curl.run("-X", "DELETE", "-w", "%{http_code}", web_server.url(f"/upload/{name}"),
                    proxy=weir).stdout[-3:] == b"204"
    assert not (web_server.directory / "www/upload" / name).exists()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_method(weir, web_server, method):
    assert curl.run("-X", method, web_server.url("/method"), proxy=weir).stdout == method.encode()


def test_old_protocol(weir, web_server, content):
    assert curl.run("--http1.0", web_server.url("/file"), proxy=weir).stdout == content


def test_tunnel(weir, web_server, content):
    done = curl.run("--proxytunnel", "-w", "%{stderr}%{http_connect} %{http_code}",
                    web_server.url("/file"), proxy=weir)
    assert done.stdout == content and done.stderr == b"200 200"
    via = curl.run("--proxytunnel", web_server.url("/via"), proxy=weir).stdout
    assert via == b"", "what is inside a tunnel is none of weir's business"


def test_via(weir, web_server):
    assert curl.run(web_server.url("/via"), proxy=weir).stdout.startswith(b"1.1 ")


def test_slow_reader_gets_everything(weir, web_server, content):
    done = curl.run("--limit-rate", "4M", web_server.url("/file"), proxy=weir)
    assert done.stdout == content


def test_nobody_there(weir, closed_port):
    done = curl.run("-w", "%{http_code}", "-o", "/dev/null", f"http://127.0.0.1:{closed_port}/",
                    proxy=weir)
    assert done.stdout == b"502"
    done = curl.run("-w", "%{http_connect}", "-p", f"http://127.0.0.1:{closed_port}/", proxy=weir,
                    expect=None)
    assert done.returncode == 56 and done.stdout.endswith(b"502")


def test_reverse_proxy(start_weir, web_server, content):
    weir = start_weir("-l", "127.0.0.1:0", "-u", web_server.authority)
    assert curl.run(f"http://{weir.authority}/file").stdout == content
    assert curl.run("--path-as-is", f"http://{weir.authority}/target//a/../%2F?x").stdout \
        == b"/target//a/../%2F?x"


def test_browser_that_takes_the_proxy_for_a_server(weir):
    done = curl.run("-w", "%{stderr}%{http_code}", f"http://{weir.authority}/")
    assert done.stderr == b"400" and b"proxy" in done.stdout.lower()
