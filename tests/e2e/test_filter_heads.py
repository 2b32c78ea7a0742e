"""D: heads and trailers as filters read and change them."""
import pytest

from origin import ok
from probe import Probes, request, tunnel
from program import Weir


@pytest.fixture(scope="module")
def probes(tmp_path_factory):
    probes = Probes(Weir, tmp_path_factory.mktemp("probes"))
    yield probes
    probes.weir.check()
    probes.weir.stop()


def ask(probes, origin, *scripts, method=b"GET", **options):
    key, text = request(origin, *scripts, method=method, **options)
    with probes.client() as client:
        return key, client.ask(text)


def results(probes, key, verb):
    return [int(line.split()[-1]) for line in probes.trace.over(key) if f"> {verb} " in line]


def test_repeated_fields_stay_apart(probes, make_origin):
    """D1."""
    cookies = b"".join(b"Set-Cookie: c%d=%d\r\n" % (i, i) for i in range(5))

    def handler(connection):
        while connection.request():
            connection.send(ok(b"x", fields=cookies))
    key, answer = ask(probes, make_origin(handler), "a.response=field 1 set-cookie 3; "
                      "field 1 Set-Cookie 5; add 1 Set-Cookie c5=5; add 1 X-A 1; add 1 X-A 2")
    assert answer.all(b"set-cookie") == [b"c%d=%d" % (i, i) for i in range(6)]
    assert answer.all(b"x-a") == [b"1", b"2"]
    lines = probes.trace.over(key)
    assert "a response> field 0 c3=3" in lines


@pytest.mark.parametrize("name,value", [
    ("X-A", r"a\r"), ("X-A", r"a\nb"), ("X-A", r"a\0b"), (r"X\nA", "1"), ("X:A", "1"),
    ("(", "1"), (":path", "/"), ("Connection", "close"), ("Transfer-Encoding", "chunked"),
    ("Content-Length", "5"), ("TE", "trailers"), ("Upgrade", "x"), ("Keep-Alive", "1"),
    ("Proxy-Connection", "close"), ("Host", "evil"), ("Trailer", "x"), ("Expect", "100-continue")])
@pytest.mark.parametrize("which,hook", [(0, "request"), (1, "response"), (2, "request_body"),
                                        (3, "response_body"), (4, "interim")])
def test_what_a_head_must_not_have(probes, make_origin, name, value, which, hook):
    """D2: refused, and never on the wire; in every head and in trailers."""
    def handler(connection):
        while connection.request():
            connection.send(b"HTTP/1.1 103 Early\r\n\r\n", ok(b"x"))
    origin = make_origin(handler)
    key, answer = ask(probes, origin, f"a.{hook}=set {which} {name} {value}; add {which} {name} {value}",
                      method=b"POST", body=b"1", chunked=True)
    assert answer.status == 200 and answer.complete
    found = results(probes, key, "set") + results(probes, key, "add")
    assert len(found) >= 2 and all(rc < 0 for rc in found), found
    seen = origin.requests[-1]
    for message in (answer, seen, *answer.interim):
        written = message.fields + message.trailers
        framing = (b"Transfer-Encoding", b"chunked")
        assert (name.encode(), value.encode()) not in [one for one in written if one != framing]
        assert written.count(framing) <= 1


@pytest.mark.parametrize("hook,which", [
    ("request_body", 0), ("response", 0), ("response_body", 1), ("response_body", 0),
    ("log", 0), ("log", 1), ("request", 1), ("request", 3), ("request", 4), ("response", 4)])
def test_a_head_that_has_left_or_is_not_there(probes, make_origin, hook, which):
    """D4."""
    key, answer = ask(probes, make_origin(), f"a.{hook}=set {which} X-Late 1; add {which} X-Late 1; "
                      f"remove {which} Via; fill {which} 1 1", method=b"POST", body=b"1")
    assert answer.status == 200 and not answer.all(b"x-late")
    for verb in ("set", "add", "remove", "fill"):
        assert results(probes, key, verb)[0] < 0, verb


def test_parts_that_have_left(probes, make_origin):
    """D4: of the first lines too."""
    key, answer = ask(probes, make_origin(), "a.response=part 4 /x; part 1 PUT; part 3 b:1",
                      "a.response_body=status 201")
    assert answer.status == 200
    assert all(rc < 0 for rc in results(probes, key, "part") + results(probes, key, "status"))


@pytest.mark.parametrize("which,hook", [(0, "request"), (1, "response"), (2, "request"),
                                        (3, "response"), (4, "interim")])
def test_limits_of_what_filters_add(probes, make_origin, which, hook):
    """D5: 10,000 fields, a value of 1 MiB, and 64 KiB in all."""
    def handler(connection):
        while connection.request():
            connection.send(b"HTTP/1.1 103 Early\r\n\r\n", ok(b"x"))
    origin = make_origin(handler)
    for count, length, most in ((10000, 2, 256), (1, 1 << 20, 0), (200, 1000, 66)):
        key, answer = ask(probes, origin, f"a.{hook}=fill {which} {count} {length}",
                          method=b"POST", body=b"1", chunked=True)
        assert answer is not None and answer.status == 200
        rc, added = results(probes, key, "fill")[0], results(probes, key, "filled")[0]
        assert rc < 0 and most // 2 <= added <= most, (count, rc, added)


def test_trailers_of_requests_and_responses(probes, make_origin):
    """D6: read, changed, made; those of a message that came without."""
    def handler(connection):
        while request := connection.request():
            connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n")
            connection.send(b"X-Sum: 1\r\nX-Gone: 1\r\n\r\n" if request.target == b"/with" else b"\r\n")
    origin = make_origin(handler)
    key, answer = ask(probes, origin, "a.trailers=if_response; field 3 X-Sum 0; set 3 X-Sum 2; "
                      "remove 3 X-Gone; add 3 X-New 1", path="/with")
    assert answer.trailers == [(b"X-Sum", b"2"), (b"X-New", b"1")]
    assert "a trailers> field 0 1" in probes.trace.over(key)
    key, answer = ask(probes, origin, "a.response_body=if_end; add 3 X-New 1")
    assert answer.trailers == [(b"X-New", b"1")] and answer.body == b"good"
    assert "b trailers response" in probes.trace.over(key)
    key, answer = ask(probes, origin, "a.request_body=if_end; add 2 X-New 1", method=b"POST",
                      body=b"1234", chunked=True)
    assert origin.requests[-1].trailers == [(b"X-New", b"1")], origin.requests[-1]
    key, answer = ask(probes, origin, "a.trailers=if_response; set 3 Content-Length 5; "
                      "add 3 Authorization x; add 3 Set-Cookie x; set 3 X-Ok 1", path="/with")
    assert (b"X-Ok", b"1") in answer.trailers
    assert results(probes, key, "set")[0] < 0 and all(rc < 0 for rc in results(probes, key, "add"))


@pytest.mark.parametrize("method,status", [(b"HEAD", 200), (b"GET", 204), (b"GET", 304)])
def test_trailers_without_a_body(probes, make_origin, method, status):
    """D6: dropped where there is no place for them, and the message stays one."""
    def handler(connection):
        while connection.request():
            connection.send(b"HTTP/1.1 %d OK\r\n\r\n" % status if status != 200 else
                            b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
    origin = make_origin(handler)
    for hook in ("response", "request"):
        which = 3 if hook == "response" else 2
        _, one = request(origin, f"a.{hook}=add {which} X-New 1", method=method)
        _, two = request(origin, method=method)
        with probes.client() as client:
            for text in (one, two):
                client.send(text)
                answer = client.response(method)
                assert answer.status == status and answer.complete and not answer.body
            assert client.usable()


def test_trailers_of_a_counted_body(probes, make_origin):
    key, answer = ask(probes, make_origin(), "a.response_body=add 3 X-New 1")
    assert answer.complete and answer.body == b"/"


@pytest.mark.http1("a client of HTTP/1.0 has no trailers")
def test_trailers_for_http_1_0(probes, make_origin):
    key, text = request(make_origin(), "a.response_body=add 3 X-New 1")
    with probes.client() as client:
        client.send(text.replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        answer = client.response()
        assert answer.complete and answer.body == b"/" and not answer.trailers


@pytest.mark.parametrize("part,value,fine", [
    (1, "PUT", True), (1, "HEAD", False), (1, "CONNECT", False), (1, "G ET", False),
    (4, "/new?x=1", True), (4, "new", False), (4, "/a b", False), (4, "/a#b", False), (4, "*", False),
    (2, "https", True), (2, "HT TP", False), (3, "a b", False), (3, "", False), (9, "x", False)])
def test_parts(probes, make_origin, part, value, fine):
    def handler(connection):
        if value == "https":
            assert connection.reader.take(1) == b"\x16"  # TLS, which it does not speak
        elif connection.request():
            connection.send(ok())
    origin = make_origin(handler)
    key, answer = ask(probes, origin, f"a.request=part {part} {value}")
    assert (results(probes, key, "part") == [0]) == fine
    assert answer.status == (502 if value == "https" else 200)
    if fine and part != 2:
        assert value.encode() in origin.requests[-1].start


@pytest.mark.parametrize("status,fine", [(201, True), (599, True), (199, False), (600, False),
                                         (204, False), (304, False), (101, False)])
def test_statuses(probes, make_origin, status, fine):
    key, answer = ask(probes, make_origin(), f"a.response=status {status}")
    assert (results(probes, key, "status") == [0]) == fine
    assert answer.status == (status if fine else 200) and answer.body == b"/"


@pytest.mark.parametrize("script,rc_is_fine,status", [
    ("respond 204 ", True, 204), ("respond 304 ", True, 304), ("respond 204 body", False, 500),
    ("stream 204 ", False, 500), ("respond 304 x", False, 500), ("respond 101 ", False, 500),
    ("respond 205 ", True, 205), ("respond 418 #3000000", True, 418)])
def test_replies(probes, make_origin, script, rc_is_fine, status):
    key, text = request(make_origin(), f"a.request={script}")
    _, after = request(make_origin())
    with probes.client() as client:
        answer = client.ask(text)
        assert answer.status == status and answer.complete
        assert (results(probes, key, script.split()[0]) == [0]) == rc_is_fine
        if status in (204, 304):
            assert not answer.all(b"content-length") and not answer.all(b"transfer-encoding")
        if "#" in script:
            assert len(answer.body) == 3000000
        assert client.ask(after).status == 200


def test_a_reply_to_connect_opens_no_tunnel(probes, make_origin):
    key, text = tunnel(make_origin(), "a.request=respond 200 x")
    with probes.client() as client:
        client.send(text)
        assert client.response(b"GET").status == 500
    key, text = tunnel(make_origin(), "a.request=respond 407 x")
    _, again = request(make_origin())
    with probes.client() as client:
        client.send(text)
        assert client.response(b"GET").body == b"x"
        assert client.ask(again).status == 200
