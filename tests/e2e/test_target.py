"""Path and query travel byte by byte; targets that are none are refused before anyone is asked."""
import pytest

import curl
from client import Client

PATHS = [
    b"/", b"/a%2Fb%2f", b"//a//b///", b"/a/./b/../c", b"/a/%2e%2e/b", b"/a?b=c?d=/e//f", b"/a?",
    b"/a;v=1/b+c,d=e@f:g!h$i&j'k(l)m*n?o+p;q", b"/%C3%a9", b"/~user/-._", b"/a?" + b"q" * 5000,
    b"/" + b"p" * 6000, b"/http://other.test/x", b"/a?http://other.test:99/?", b"/%00%0d%0a%20",
]


@pytest.mark.parametrize("path", PATHS)
def test_target_is_not_touched(connect, make_origin, path):
    origin = make_origin()
    response = connect().ask(b"GET http://%s%s HTTP/1.1\r\nHost: %s\r\n\r\n"
                             % (origin.authority, path, origin.authority))
    assert response.status == 200
    assert [request.target for request in origin.requests] == [path]


@pytest.mark.parametrize("after, right", [(b"", b"/"), (b"?x=1", b"/?x=1"), (b"?", b"/?")])
def test_empty_path_becomes_a_slash(connect, make_origin, after, right):
    origin = make_origin()
    response = connect().ask(b"GET http://%s%s HTTP/1.1\r\nHost: %s\r\n\r\n"
                             % (origin.authority, after, origin.authority))
    assert response.status == 200
    assert origin.requests[0].target == right


@pytest.mark.parametrize("path", ["/target/a%2Fb", "/target//x/./../y/?a=../b&c=//",
                                  "/target/%7e~;p=1,2?q?r"])
def test_target_is_not_touched_with_curl_and_nginx(weir, web_server, path):
    """nginx answers with the target that it was sent."""
    asked = curl.run("--path-as-is", web_server.url(path), proxy=weir)
    assert asked.stdout.decode() == path


@pytest.mark.parametrize("path", [b"/100%/x", b"/a[1]|b", b"/\xe9\xff", b"/a\"b<c>{d}^`\\"])
def test_odd_target_is_kept_or_refused_but_never_repaired(weir, make_origin, path):
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(b"GET http://%s%s HTTP/1.1\r\nHost: %s\r\n\r\n"
                              % (origin.authority, path, origin.authority))
    if response.status == 200:
        assert origin.requests[0].target == path
    else:
        assert response.status == 400 and not origin.requests


@pytest.mark.parametrize("target", [
    b"http://127.0.0.1:%d/\x01", b"http://127.0.0.1:%d/a b", b"http://127.0.0.1:%d/\x7f",
    b"http://user@:%d/", b"http://:%d/", b"//127.0.0.1:%d/", b"127.0.0.1:%d/",
    b"http:/127.0.0.1:%d/", b"http:127.0.0.1:%d/", b"http://[127.0.0.1:%d/",
    b"http://127.0.0.1]:%d/", b"http://[::1]x:%d/",
])
def test_no_target_at_all_is_refused(weir, make_origin, target):
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(b"GET " + target % origin.port + b" HTTP/1.1\r\nHost: a.test\r\n\r\n")
        assert response.status == 400
        assert client.ended() if b"close" in response.items(b"connection") else client.usable()
    assert not origin.connections


@pytest.mark.parametrize("port", [b"0", b"65536", b"80x", b"-1", b"+80", b" 80", b"0x50",
                                  b"99999999999999999999", b"wrapped"])
def test_bad_port_is_refused(weir, make_origin, port):
    origin = make_origin()
    if port == b"wrapped":
        port = b"%d" % (origin.port + 65536)
    for request in (b"GET http://127.0.0.1:%s/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
                    b"CONNECT 127.0.0.1:%s HTTP/1.1\r\nHost: a.test\r\n\r\n"):
        with Client(weir.address) as client:
            assert client.ask(request % port).status == 400
    assert not origin.connections


@pytest.mark.parametrize("authority", [b"127.0.0.1", b"127.0.0.1:", b":443", b"http://127.0.0.1:80/",
                                       b"::1:80", b"[::1]", b"127.0.0.1:80/", b"/"])
def test_connect_without_host_and_port_is_refused(weir, authority):
    with Client(weir.address) as client:
        response = client.ask(b"CONNECT %s HTTP/1.1\r\nHost: a.test\r\n\r\n" % authority)
        assert response.status == 400


def test_ipv6_literal(connect, make_origin):
    origin = make_origin(host="::1")
    response = connect().ask(b"GET http://%s/six HTTP/1.1\r\nHost: %s\r\n\r\n"
                             % (origin.authority, origin.authority))
    assert (response.status, response.body) == (200, b"/six")
    assert origin.requests[0].get(b"host") == origin.authority


def test_ipv6_literal_in_connect(connect, make_origin):
    origin = make_origin(lambda connection: connection.send(connection.reader.take(4)[::-1]),
                         host="::1")
    client = connect()
    assert client.connect(origin.authority).status == 200
    client.send(b"ping")
    assert client.reader.take_rest() == b"gnip"
