"""Requests in absolute form reach the origin that they name, whatever their method, and no other."""
import pathlib

import pytest

from message import chunked
from origin import always, echo, ok

HOSTS = pathlib.Path("/etc/hosts")
METHODS_WITH_BODY = [b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"GET", b"PROPFIND"]


@pytest.mark.parametrize("method", [b"GET", b"DELETE", b"OPTIONS", b"PURGE"])
def test_method_without_body(connect, make_origin, method):
    origin = make_origin(always(ok(b"fine")))
    response = connect().ask(b"%s %s HTTP/1.1\r\nHost: %s\r\n\r\n"
                             % (method, origin.url("/x?y").encode(), origin.authority))
    assert (response.status, response.body) == (200, b"fine")
    (request,) = origin.requests
    assert request.start == b"%s /x?y HTTP/1.1" % method
    assert request.get(b"host") == origin.authority
    assert request.framing == "none", "a request without a body got one"


@pytest.mark.parametrize("method", METHODS_WITH_BODY)
def test_method_with_counted_body(connect, make_origin, method):
    origin = make_origin(echo)
    client = connect()
    for body in (b"hello", b"GET /hidden HTTP/1.1\r\nHost: b.test\r\n\r\n", b"\0\xff" * 40000):
        response = client.ask(b"%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s"
                              % (method, origin.url("/up").encode(), origin.authority, len(body),
                                 body))
        assert (response.status, response.body) == (200, body)
    assert [request.target for request in origin.requests] == [b"/up"] * 3
    assert origin.requests[0].framing == "length"
    assert origin.requests[0].get(b"content-length") == b"5"


@pytest.mark.parametrize("method", METHODS_WITH_BODY)
def test_method_with_chunked_body(connect, make_origin, method):
    origin = make_origin(echo)
    client = connect()
    for pieces in ([b"hello"], [b"GET /hidden HTTP/1.1\r\n", b"Host: b.test\r\n\r\n"],
                   [b"\0\xff" * 40000, b"x"]):
        response = client.ask(b"%s %s HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
                              % (method, origin.url("/up").encode(), origin.authority),
                              chunked(*pieces))
        assert (response.status, response.body) == (200, b"".join(pieces))
    assert [request.target for request in origin.requests] == [b"/up"] * 3
    assert origin.requests[0].framing == "chunked"


def test_empty_bodies(connect, make_origin):
    origin = make_origin(echo)
    client = connect()
    head = b"POST %s HTTP/1.1\r\nHost: %s\r\n" % (origin.url().encode(), origin.authority)
    assert client.ask(head, b"Content-Length: 0\r\n\r\n", method=b"POST").body == b""
    assert client.ask(head, b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                      method=b"POST").body == b""
    counted, coded = origin.requests
    assert counted.get(b"content-length") == b"0", "a counted empty body must stay counted"
    assert coded.framing != "none" and coded.complete and coded.body == b""


def test_authority_of_the_target_wins_over_host(connect, make_origin):
    origin, other = make_origin(), make_origin()
    response = connect().ask(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n"
                             % (origin.url("/mine").encode(), other.authority))
    assert response.body == b"/mine"
    assert origin.requests[0].get(b"host") == origin.authority
    assert other.requests == [] and other.connections == []


def test_requests_reach_different_origins_over_one_connection(connect, make_origin):
    first, second = make_origin(always(ok(b"first"))), make_origin(always(ok(b"second")))
    client = connect()
    bodies = [client.ask(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n"
                         % (origin.url().encode(), origin.authority)).body
              for origin in (first, second, first, second)]
    assert bodies == [b"first", b"second"] * 2
    assert len(first.requests) == len(second.requests) == 2


def test_scheme_and_host_are_not_case_sensitive(connect, make_origin):
    origin = make_origin()
    response = connect().ask(b"GET HTTP://LocalHost:%d/Path HTTP/1.1\r\nHost: LocalHost:%d\r\n\r\n"
                             % (origin.port, origin.port))
    assert response.body == b"/Path"


def addresses_of_localhost():
    """What /etc/hosts says; a bare machine may say nothing and then means 127.0.0.1."""
    lines = [line.partition("#")[0].split() for line in HOSTS.read_text().splitlines()] \
        if HOSTS.exists() else []
    return [line[0] for line in lines if "localhost" in line[1:]] or ["127.0.0.1"]


def test_names_resolve_to_every_family_that_they_have(connect, make_origin):
    """Where localhost has an address of each family, only one of them listens here."""
    for host in addresses_of_localhost():
        origin = make_origin(host=host)
        response = connect().ask(b"GET http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\n\r\n"
                                 % (origin.port, origin.port))
        assert response.status == 200, host
        assert len(origin.requests) == 1


@pytest.mark.parametrize("status", [b"200 OK", b"201 Made", b"301 Moved", b"404 Not Here",
                                    b"500 Oh", b"299 ", b"511 Odd  reason\twith bytes \xe9"])
def test_status_and_reason_travel(connect, make_origin, status):
    origin = make_origin(always(b"HTTP/1.1 %s\r\nContent-Length: 2\r\n\r\nok" % status))
    client = connect()
    for unused in range(2):
        response = client.ask(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n"
                              % (origin.url().encode(), origin.authority))
        assert response.start == b"HTTP/1.1 " + status
        assert response.body == b"ok"
