"""rate-limit: so many requests and no more, whichever worker serves them."""
import time

import pytest

from client import Client
from program import run
from test_auth_basic import USERS, basic
from test_auth_basic import uses as authenticates
from test_reload import Running


@pytest.fixture
def start(start_weir, tmp_path):
    def begin(text, workers=2, **options):
        return Running(start_weir, tmp_path, text, workers=workers, **options)
    return begin


def limits(*sections):
    return "filters:\n" + "".join(f"  - {{ use: rate-limit, with: {{ {section} }} }}\n"
                                  for section in sections)


def asking(origin, fields=b""):
    return b"GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (origin.url().encode(), fields)


def statuses(address, request, count):
    """Each on a connection of its own, so that all workers get some."""
    found = []
    for unused in range(count):
        with Client(address) as client:
            found.append(client.ask(request).status)
    return found


def refused(running):
    family = running.admin.families()["weir_plugin_rate_limit_refused_total"]
    return {labels.split('"')[1]: count for labels, count in family.samples.items()}


def test_exact_over_all_workers(start, make_origin):
    origin = make_origin()
    running = start(limits("rate: 1/h, burst: 20, name: few"))
    assert statuses(running.weir.address, asking(origin), 60) == [200] * 20 + [429] * 40
    assert len(origin.requests) == 20
    assert refused(running) == {"few": 40}


def test_how_it_is_refused(start, make_origin):
    origin = make_origin()
    running = start(limits("rate: 2/m, burst: 1"))
    with Client(running.weir.address) as client:
        assert client.ask(asking(origin)).status == 200
        response = client.ask(asking(origin))
        assert response.status == 429 and response.body == b"Too many requests.\n"
        assert 25 <= int(response.get(b"retry-after")) <= 30
        assert response.get(b"content-type") == b"text/plain"
        assert client.ask(asking(origin)).status == 429, "the connection stays"
    running.reload(limits("rate: 50/s, burst: 1, status: 503, name: other"))
    with Client(running.weir.address) as client:
        answers = [client.ask(asking(origin)) for unused in range(20)]
        assert {answer.status for answer in answers} == {200, 503}
        assert all(answer.get(b"retry-after") == b"1" for answer in answers
                   if answer.status == 503)


def test_it_fills_again(start, make_origin):
    origin = make_origin()
    running = start(limits("rate: 10/s, burst: 2"))
    with Client(running.weir.address) as client:
        begin = time.monotonic()
        answered = sum(client.ask(asking(origin)).status == 200
                       for unused in iter(lambda: time.monotonic() - begin < 1.5, False))
        most = 2 + 10 * (time.monotonic() - begin)
    assert 10 <= answered <= most


def test_tunnels_count(start, make_origin):
    origin = make_origin()
    running = start(limits("rate: 1/h"))
    with Client(running.weir.address) as client:
        assert client.connect(origin.authority).status == 200
    with Client(running.weir.address) as client:
        assert client.connect(origin.authority).status == 429


def test_of_a_second_when_nothing_is_said(start, make_origin):
    origin = make_origin()
    running = start(limits("rate: 7/s"))
    with Client(running.weir.address) as client:
        found = [client.ask(asking(origin)).status for unused in range(8)]
    assert found[:7] == [200] * 7


# --- who has a rate

def test_each_address(start, make_origin):
    origin = make_origin()
    running = start(limits("rate: 1/h, per: client"), listen=("127.0.0.1:0", "[::1]:0"))
    for address in running.weir.addresses:
        assert statuses(address, asking(origin), 2) == [200, 429]


def test_each_user(start, make_origin):
    origin = make_origin()
    running = start(authenticates(USERS) +
                    "  - { use: rate-limit, with: { per: user, rate: 1/h, burst: 2 } }\n")
    for name, secret in (("al", "open"), ("Jörg", "süß")):
        request = asking(origin, basic(name, secret))
        assert statuses(running.weir.address, request, 3) == [200, 200, 429]


def test_each_host(start, make_origin):
    origins = [make_origin(), make_origin(host="::1")]
    running = start(limits("rate: 1/h, per: host"))
    for origin in origins:
        assert statuses(running.weir.address, asking(origin), 2) == [200, 429]


def test_all(start, make_origin):
    origins = [make_origin(), make_origin(host="::1")]
    running = start(limits("rate: 1/h, per: all"), listen=("127.0.0.1:0", "[::1]:0"))
    found = [statuses(address, asking(origin), 1) for address in running.weir.addresses
             for origin in origins]
    assert found == [[200], [429], [429], [429]]


# --- whose buckets they are

def test_limits_do_not_share(start, make_origin):
    """Two of the same make no difference to one: each has buckets of its own."""
    running = start(limits("rate: 1/h, burst: 4", "rate: 1/h, burst: 4"))
    assert statuses(running.weir.address, asking(make_origin()), 5) == [200] * 4 + [429]


def test_limits_of_one_name_share(start, make_origin):
    running = start(limits("rate: 1/h, burst: 4, name: a", "rate: 1/h, burst: 4, name: a"))
    assert statuses(running.weir.address, asking(make_origin()), 3) == [200, 200, 429]


@pytest.mark.parametrize("name", ["", ", name: mine"])
def test_buckets_outlive_a_reload(start, make_origin, name):
    origin = make_origin()
    running = start(limits(f"rate: 1/h, burst: 3{name}"))
    assert statuses(running.weir.address, asking(origin), 2) == [200] * 2
    running.reload(limits(f"rate: 1/h, burst: 3{name}"))
    assert statuses(running.weir.address, asking(origin), 2) == [200, 429]
    running.reload(limits(f"rate: 1/h, burst: 5{name}"))
    assert statuses(running.weir.address, asking(origin), 3) == [200, 200, 429]


def test_one_route_alone(start, make_origin):
    origin, other = make_origin(), make_origin()
    running = start(f"routes:\n  - when: {{ port: {origin.port} }}\n    to: direct\n    "
                    "filters: [ { use: rate-limit, with: { rate: 1/h } } ]\n")
    assert statuses(running.weir.address, asking(origin), 2) == [200, 429]
    assert statuses(running.weir.address, asking(other), 2) == [200, 200]
    assert refused(running) == {"routes[0].filters[0].with": 1}


@pytest.mark.parametrize("text, says", [
    ("burst: 3", '"rate" is missing'), ("rate: 5", "a rate such as"), ("rate: 0/s", "rate"),
    ("rate: 1/s, burst: 0", "burst"), ("rate: 1/s, status: 200", "must be 400 to 599"),
    ("rate: 1/s, per: nobody", "per"), ("rate: 1/s, ipv6_prefix: 129", "ipv6_prefix"),
    ("rate: 1/s, name: a b", "is not a name")])
def test_mistakes(tmp_path, text, says):
    file = tmp_path / "weir.yaml"
    file.write_text(limits(text))
    ended = run("check", "-c", str(file))
    assert ended.returncode == 78 and says in ended.stderr, ended.stderr
