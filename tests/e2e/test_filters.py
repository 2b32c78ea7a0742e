"""Filters in the configuration: instances, what workers have of them, guards, routes, mistakes."""
import threading
import time

import pytest

from client_chosen import Client
from origin import ok
from plugins import built
from program import run
from test_reload import Running, get, waiting

WORKERS = 2
PLUGINS = f"plugins: [ {built('life')} ]\n"


def uses(*entries, indent=2):
    return "filters:\n" + "".join(f"{' ' * indent}- {{ use: life, with: {{ {entry} }} }}\n"
                                  for entry in entries)


def count(weir, name, what):
    return weir.lines.count(f"life {name}: {what}")


def expect(weir, name, what, times, seconds=10):
    until = time.monotonic() + seconds
    while count(weir, name, what) < times and time.monotonic() < until:
        time.sleep(0.02)
    assert count(weir, name, what) == times, (name, what, weir.lines)


@pytest.fixture
def start(start_weir, tmp_path):
    return lambda text: Running(start_weir, tmp_path, PLUGINS + text, workers=WORKERS)


def reload(running, text):
    running.write(PLUGINS + text)
    return running.admin.reload()


# --- instances

def test_an_instance_stays_until_its_last_exchange_is_over(start, make_origin):
    """The states of each worker go on that worker, then the instance on the main thread."""
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on))
    running = start(uses("name: old"))
    weir = running.weir
    expect(weir, "old@all<", "worker_make", WORKERS)
    with Client(weir.address) as client:
        client.send(get(origin))
        assert asked.wait(5)
        assert reload(running, uses("name: new")).status == 200
        expect(weir, "new@all<", "worker_make", WORKERS)
        expect(weir, "old@all<", "worker_free", WORKERS - 1)
        time.sleep(0.1)
        assert not count(weir, "old@all<", "free")
        go_on.set()
        assert client.response().body == b"late"
        assert client.ask(get(make_origin())).status == 200
        expect(weir, "old@all<", "free", 1)
        expect(weir, "new@all<", "open", 1)
    order = [line for line in weir.lines if line.startswith("life old@")]
    assert order[0] == "life old@all<: make" and order[-1] == "life old@all<: free", order
    assert order.index("life old@all<: close") < len(order) - 2
    assert count(weir, "old@all<", "open") == 1 and count(weir, "old@all<", "close") == 1
    weir.stop()
    for name in ("worker_free", "free"):
        expect(weir, "new@all<", name, WORKERS if name == "worker_free" else 1)
    assert not any("another thread" in line or "on main" in line for line in weir.lines)


def test_scopes_and_parents(start_weir, tmp_path, make_origin):
    file = tmp_path / "weir.yaml"
    file.write_text(PLUGINS + "workers: 1\nlisten:\n  - address: 127.0.0.1:0\n    " +
                    uses("name: b", indent=6) + "  - address: 127.0.0.1:0\n" + uses("name: a") +
                    "routes:\n  - to: direct\n    " + uses("name: c", indent=6))
    weir = start_weir("-c", str(file), listeners=2)
    for name in ("a@all<", "b@listener<a@all<", "c@route<a@all<"):
        expect(weir, name, "worker_make", 1)
    origin = make_origin()
    for number, address in enumerate(weir.addresses):
        with Client(address) as client:
            assert client.ask(get(origin)).status == 200
        expect(weir, "a@all<", "open", number + 1)
        expect(weir, "b@listener<a@all<", "open", 1)
        expect(weir, "c@route<a@all<", "open", number + 1)
        expect(weir, "c@route<a@all<", "close", number + 1)


def test_mistakes_leave_the_old_configuration_in_force(start):
    running = start(uses("name: a"))
    weir = running.weir
    place = f"{running.file}:7:"
    for text, says in [
            ("name: b, size: 13B", "filters[0].with.size: brings bad luck"),
            ("name: b, sise: 1B", 'filters[0].with.sise: unknown key; did you mean "size"?'),
            ("size: 1B", 'filters[0].with: "name" is missing')]:
        answer = reload(running, uses(text))
        assert answer.status == 422 and says in answer.body.decode(), answer.body
        assert place in answer.body.decode()
    answer = reload(running, uses("name: c", "name: d, fails: true"))
    assert answer.status == 422 and b"filter life refuses the configuration" in answer.body
    expect(weir, "c@all<", "worker_make", WORKERS)
    expect(weir, "c@all<", "worker_free", WORKERS)
    expect(weir, "c@all<", "free", 1)
    expect(weir, "d@all<", "free", 1)
    assert not count(weir, "a@all<", "free")
    assert running.admin.metric("weir_configurations_in_use") == 1
    assert reload(running, "").status == 200
    expect(weir, "a@all<", "free", 1)


def test_a_refusal_at_the_start_ends_it(tmp_path):
    file = tmp_path / "weir.yaml"
    file.write_text(PLUGINS + "workers: 2\nlisten: [ { address: 127.0.0.1:0 } ]\n" +
                    uses("name: a", "name: b, fails: true"))
    ended = run("-c", str(file))
    lines = ended.stderr.split("\n")
    assert ended.returncode == 1, ended.stderr
    assert "filter life refuses the configuration" in ended.stderr
    assert not any("listening on" in line for line in lines)
    assert lines.count("life a@all<: worker_free") == 2 and "life a@all<: free" in lines
    assert "life b@all<: free" in lines


def test_check_makes_instances_too(tmp_path):
    file = tmp_path / "weir.yaml"
    file.write_text(PLUGINS + uses("name: a") + "  - { use: odd }\n  - { use: lief }\n")
    ended = run("check", "-c", str(file))
    assert ended.returncode == 78
    assert f"{file}:4:12: filters[1].use: cannot be used: what its plugin says" in ended.stderr
    assert f"{file}:5:12: filters[2].use:" in ended.stderr
    assert 'did you mean "life"?' in ended.stderr
    assert "life a@all<: free" in ended.stderr
    file.write_text(PLUGINS + uses("name: a"))
    assert run("check", "-c", str(file)).returncode == 0


# --- guards

@pytest.mark.parametrize("text,returncode", [
    ("filters: [ { use: guard } ]\nlisten: [ { address: 0.0.0.0:3128 } ]\n", 0),
    ("listen: [ { address: 0.0.0.0:3128, filters: [ { use: guard } ] } ]\n", 0),
    ("listen: [ { address: 0.0.0.0:3128 } ]\n", 78),
    ("filters: [ { use: guard, on_fault: skip } ]\nlisten: [ { address: 0.0.0.0:3128 } ]\n", 78)])
def test_a_guard_stands_for_allow_clients(tmp_path, text, returncode):
    file = tmp_path / "weir.yaml"
    file.write_text(PLUGINS + text)
    assert run("check", "-c", str(file)).returncode == returncode


# --- routes

@pytest.fixture
def routed(start_weir, tmp_path, make_origin):
    app = make_origin(lambda connection: answer(connection, b"app"))
    file = tmp_path / "weir.yaml"
    file.write_text(f"""
workers: 1
listen: [ {{ address: 127.0.0.1:0 }} ]
upstream: {{ app: {{ servers: [ {app.authority.decode()} ] }} }}
routes:
  - {{ when: {{ host: [ app.example, "*.app.example" ], path: /api/* }}, to: app }}
""")
    return start_weir("-c", str(file))


def test_routes(routed, make_origin):
    other = make_origin(lambda connection: answer(connection, b"other"))
    with Client(routed.address) as client:
        for host in (b"app.example", b"APP.example:81", b"a.b.app.example."):
            asked = client.ask(b"GET /api/x HTTP/1.1\r\nHost: %s\r\n\r\n" % host)
            assert asked.body == b"app", host
        assert client.ask(get(other)).body == b"other"


@pytest.mark.http1("requests of HTTP/2 have no origin-form")
def test_a_path_alone_that_no_route_takes(routed):
    for request in (b"GET /ap HTTP/1.1\r\nHost: app.example\r\n\r\n",
                    b"GET /api/x HTTP/1.1\r\nHost: xapp.example\r\n\r\n"):
        with Client(routed.address) as client:
            assert client.ask(request).status == 400


def answer(connection, body):
    while connection.request():
        connection.send(ok(body))
