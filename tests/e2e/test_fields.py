"""Fields: order, case and duplicates are kept; Via grows; what belongs to one connection stays there."""
import re

import pytest

from client import Client
from origin import always, ok
from program import Weir

VIA_ENTRY = re.compile(rb"(1\.[01]) ([!#$%&'*+.^_`|~0-9A-Za-z:\[\]-]+)( \(.*\))?")
OWN = {b"via", b"connection", b"host", b"content-length", b"transfer-encoding"}

MIXED = [
    (b"X-Zulu", b"1"), (b"accept", b"a/b, c/d;q=0.1"), (b"X-ALPHA", b""), (b"Cookie", b"a=1"),
    (b"x-alpha", b"second"), (b"Cookie", b"b=2"), (b"X-Zulu", b"3"), (b"x_under.score!", b"~"),
    (b"Date", b"Mon, 30 Nov 2026 10:00:00 GMT"), (b"X-Latin", b"caf\xe9 \xff"),
    (b"X-Tabs", b"a\tb  c"), (b"User-Agent", b"test \"quoted\" (comment, x)"),
]


def lines(fields):
    return b"".join(b"%s: %s\r\n" % field for field in fields)


def end_to_end(message):
    return [field for field in message.fields if field[0].lower() not in OWN]


def get(origin, more=b"", version=b"1.1"):
    return b"GET %s HTTP/%s\r\nHost: %s\r\n%s\r\n" \
        % (origin.url().encode(), version, origin.authority, more)


def test_fields_of_a_request_keep_order_case_and_duplicates(connect, make_origin):
    origin = make_origin()
    assert connect().ask(get(origin, lines(MIXED))).status == 200
    assert end_to_end(origin.requests[0]) == MIXED
    assert origin.requests[0].all(b"host") == [origin.authority]


def test_fields_of_a_response_keep_order_case_and_duplicates(connect, make_origin):
    fields = MIXED + [(b"Set-Cookie", b"a=1; Path=/"), (b"X-Between", b"1"),
                      (b"Set-Cookie", b"b=2; Path=/"), (b"Server", b"scripted")]
    origin = make_origin(always(ok(fields=lines(fields))))
    response = connect().ask(get(origin))
    assert response.status == 200
    assert end_to_end(response) == fields


def test_fields_around_those_that_are_removed_keep_their_order(connect, make_origin):
    between = []
    for number, field in enumerate(MIXED):
        between += [field, (b"X-Gone", b"%d" % number)]
    between.insert(5, (b"Connection", b"X-Gone"))
    between.insert(9, (b"Keep-Alive", b"timeout=5"))
    origin = make_origin(always(ok(fields=lines(between))))
    response = connect().ask(get(origin, lines(between)))
    assert end_to_end(origin.requests[0]) == MIXED
    assert end_to_end(response) == MIXED


def test_blanks_around_values_are_not_part_of_them(connect, make_origin):
    written = b"X-None:VALUE\r\nX-Two:  VALUE\r\nX-Tab:\tVALUE\r\nX-After: VALUE \t\r\nX-Blank:  \r\n" \
              b"X-Empty:\r\nX-Inside:  A  B\tC \r\n"
    right = [(b"X-None", b"VALUE"), (b"X-Two", b"VALUE"), (b"X-Tab", b"VALUE"),
             (b"X-After", b"VALUE"), (b"X-Blank", b""), (b"X-Empty", b""), (b"X-Inside", b"A  B\tC")]
    origin = make_origin(always(ok(fields=written)))
    response = connect().ask(get(origin, written))
    assert end_to_end(origin.requests[0]) == right
    assert end_to_end(response) == right


def test_a_hundred_and_twenty_fields(connect, make_origin):
    fields = [(b"X-%d" % (number % 50), b"%d" % number) for number in range(120)]
    origin = make_origin(always(ok(fields=lines(fields))))
    response = connect().ask(get(origin, lines(fields)))
    assert end_to_end(origin.requests[0]) == fields
    assert end_to_end(response) == fields


def test_nothing_is_made_up(connect, make_origin):
    """Beside Via and what frames the message, weir adds no field of its own."""
    origin = make_origin(always(ok()))
    response = connect().ask(get(origin))
    assert {name.lower() for name, unused in origin.requests[0].fields} <= {b"host", b"via"}
    assert {name.lower() for name, unused in response.fields} <= {b"content-length", b"via"}


# Via

def via_entries(message):
    entries = message.items(b"via")
    for entry in entries:
        assert VIA_ENTRY.fullmatch(entry), entry
    return [VIA_ENTRY.fullmatch(entry).groups()[:2] for entry in entries]


def test_via_is_added_in_both_directions(connect, make_origin):
    origin = make_origin()
    response = connect().ask(get(origin))
    ((version, name),) = via_entries(origin.requests[0])
    assert version == b"1.1"
    assert via_entries(response) == [(b"1.1", name)]


def test_via_of_others_comes_first(connect, make_origin):
    fields = lines([(b"Via", b"1.0 fred.example.test, 1.1 second"), (b"X", b"y"),
                    (b"via", b"1.1 third")])
    origin = make_origin(always(ok(fields=fields)))
    response = connect().ask(get(origin, fields))
    for message in (origin.requests[0], response):
        entries = via_entries(message)
        assert entries[:3] == [(b"1.0", b"fred.example.test"), (b"1.1", b"second"),
                               (b"1.1", b"third")]
        assert len(entries) == 4


def test_via_tells_the_version_that_was_received(connect, make_origin):
    origin = make_origin(lambda connection: connection.request() and connection.send(
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"))
    response = connect().ask(get(origin, version=b"1.0"))
    assert [version for version, unused in via_entries(origin.requests[0])] == [b"1.0"]
    assert [version for version, unused in via_entries(response)] == [b"1.0"]
    assert origin.requests[0].version == b"1.1", "weir speaks its own version to the server"


def test_via_name_is_constant_in_a_process_and_different_between_two(weir, connect, make_origin):
    origin = make_origin()
    client = connect()
    for unused in range(2):
        client.ask(get(origin))
    other = Weir("-l", "127.0.0.1:0")
    try:
        with Client(other.address) as outsider:
            outsider.ask(get(origin))
    finally:
        other.stop()
    first, second, third = (via_entries(request)[0][1] for request in origin.requests)
    assert first == second
    assert third != first


# fields of one connection

REQUEST_SIDE = [
    ([(b"Connection", b"close, X-Foo"), (b"X-Foo", b"1")], [b"x-foo"]),
    ([(b"Connection", b"x-one"), (b"Connection", b" ,X-TWO , "), (b"X-One", b"1"),
      (b"X-Two", b"2")], [b"x-one", b"x-two"]),
    ([(b"X-Early", b"1"), (b"Connection", b"x-early"), (b"X-EARLY", b"2")], [b"x-early"]),
    ([(b"Proxy-Connection", b"keep-alive")], [b"proxy-connection"]),
    ([(b"Keep-Alive", b"timeout=5")], [b"keep-alive"]),
    ([(b"Upgrade", b"foo/9")], [b"upgrade"]),
    ([(b"TE", b"gzip, deflate"), (b"Connection", b"TE")], [b"te"]),
    ([(b"TE", b"gzip")], [b"te"]),
]


@pytest.mark.parametrize("fields, gone", REQUEST_SIDE)
def test_fields_of_the_client_connection_stay_there(weir, make_origin, fields, gone):
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(get(origin, lines([(b"X-Before", b"1"), *fields, (b"X-Bar", b"2")])))
    assert response.status == 200
    (request,) = origin.requests
    for name in gone:
        assert request.all(name) == [], name
    assert not set(request.items(b"connection")) - {b"close", b"keep-alive", b"TE", b"te"}
    assert request.get(b"x-bar") == b"2" and request.get(b"x-before") == b"1"


def test_te_trailers_is_passed_on_as_weirs_own(connect, make_origin):
    origin = make_origin()
    client = connect()
    client.ask(get(origin, b"TE: trailers\r\nConnection: TE\r\n"))
    client.ask(get(origin, b"TE: gzip;q=0.5, trailers\r\nConnection: te\r\n"))
    for request in origin.requests:
        assert request.items(b"te") == [b"trailers"]
        assert [item.lower() for item in request.items(b"connection")] == [b"te"]


@pytest.mark.parametrize("fields, gone", [
    ([(b"Connection", b"X-Hop, keep-alive"), (b"X-Hop", b"1")], [b"x-hop"]),
    ([(b"Keep-Alive", b"timeout=9, max=77"), (b"Connection", b"keep-alive")], [b"keep-alive"]),
    ([(b"Proxy-Connection", b"keep-alive")], [b"proxy-connection"]),
    ([(b"Upgrade", b"h2c")], [b"upgrade"]),
])
def test_fields_of_the_server_connection_stay_there(weir, make_origin, fields, gone):
    origin = make_origin(always(ok(fields=lines(fields + [(b"X-End", b"2")]))))
    with Client(weir.address) as client:
        response = client.ask(get(origin))
        assert response.status == 200 and response.body == b"ok"
        for name in gone:
            assert response.all(name) == [], name
        assert b"X-Hop" not in response.items(b"connection")
        assert response.get(b"x-end") == b"2"
        assert client.usable(), "the server's wish is not the client's"


@pytest.mark.parametrize("listed", [b"Upgrade", b"keep-alive, UPGRADE", b"upgrade, X-Hop"])
def test_upgrade_is_passed_on_whole_or_not_at_all(weir, make_origin, listed):
    """It is a wish of one connection: weir may make it its own, but then Connection names it."""
    fields = lines([(b"Upgrade", b"foo/9"), (b"Connection", listed), (b"X-Hop", b"1")])
    origin = make_origin(always(ok(fields=fields)))
    with Client(weir.address) as client:
        response = client.ask(get(origin, fields))
    for message in (origin.requests[0], response):
        named = [item.lower() for item in message.items(b"connection")]
        assert named == ([b"upgrade"] if message.all(b"upgrade") else [])


def test_naming_fields_that_weir_needs_breaks_nothing(weir, make_origin):
    origin = make_origin()
    with Client(weir.address) as client:
        response = client.ask(b"POST %s HTTP/1.1\r\nHost: %s\r\nConnection: Content-Length, Host"
                              b"\r\nContent-Length: 5\r\n\r\nhello"
                              % (origin.url().encode(), origin.authority))
    if response.status == 400:
        assert not origin.requests
    else:
        assert origin.requests[0].body == b"hello"
        assert origin.requests[0].get(b"host") == origin.authority


def test_transfer_encoding_is_weirs_own_on_each_side(connect, make_origin):
    origin = make_origin(always(b"HTTP/1.1 200 OK\r\ntransfer-ENCODING: Chunked\r\n\r\n"
                                b"5\r\nhello\r\n0\r\n\r\n"))
    response = connect().ask(b"POST %s HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: CHUNKED\r\n\r\n"
                             b"00003\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
                             % (origin.url().encode(), origin.authority))
    assert response.body == b"hello" and response.complete
    assert origin.requests[0].body == b"onetwo" and origin.requests[0].complete


def test_close_asked_for_by_the_client_is_not_passed_on(weir, connect, make_origin):
    origin = make_origin()
    for unused in range(2):
        with Client(weir.address) as client:
            response = client.ask(get(origin, b"Connection: close\r\n"))
            assert b"close" in response.items(b"connection")
            assert client.ended()
    assert len(origin.connections) == 1, "the server's connection outlives the client's"
    assert b"close" not in origin.requests[0].items(b"connection")
