"""The admin listener: metrics, health, readiness, status, connections, reload; and who asks it."""
import json
import os
import re
import stat
import subprocess
import threading

import pytest

import admin as admin_client
import program
from admin import Admin
from client import Client
from origin import ok
from plugins import compile_plugin, filter_source


class Running:
    """A weir with an admin listener and a file that can be written again."""

    def __init__(self, start_weir, directory, text="", workers=1, **options):
        self.file = directory / "weir.yaml"
        self.socket = str(directory / "admin.sock")
        self.workers = workers
        self.write(text)
        self.weir = start_weir("-c", str(self.file), **options)
        self.admin = Admin(self.socket)

    def write(self, text):
        self.file.write_text(f"workers: {self.workers}\nadmin: unix:{self.socket}\n"
                             f"listen: [ {{ address: '127.0.0.1:0' }} ]\n{text}")


@pytest.fixture
def running(start_weir, tmp_path):
    return Running(start_weir, tmp_path)


def curl(running, *arguments):
    return subprocess.run(["curl", "-s", "--max-time", "8", "--unix-socket", running.socket,
                           *arguments], capture_output=True, text=True, check=True).stdout


def get(origin, path="/"):
    return b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.url(path).encode()


def waiting(asked, go_on):
    """A handler that answers when it is told to."""
    def handler(connection):
        while connection.request():
            asked.set()
            assert go_on.wait(8)
            connection.send(ok(b"late"))
    return handler


# --- what is there

def test_curl_gets_everything(running):
    assert curl(running, "http://weir/healthz") == "ok\n"
    assert curl(running, "http://weir/readyz") == "ready\n"
    assert "weir_exchanges_total 0\n" in curl(running, "http://weir/metrics?x=y")
    assert json.loads(curl(running, "http://weir/connections"))["open"] == 0
    assert curl(running, "http://weir/status").startswith("weir ")
    assert curl(running, "-X", "POST", "http://weir/reload") == "The configuration is in force.\n"


def test_address_of_loopback(start_weir, tmp_path):
    file = tmp_path / "weir.yaml"
    file.write_text("listen: [ { address: '127.0.0.1:0' } ]\nadmin: 127.0.0.1:0\n")
    weir = start_weir("-c", str(file))
    weir.wait(lambda: "admin is at" in weir.said(), "where the admin is", 5)
    port = int(weir.said().split("admin is at 127.0.0.1:")[1].split()[0])
    assert Admin(("127.0.0.1", port)).get("/healthz").body == b"ok\n"


def test_head_has_the_fields_of_get(running):
    head, whole = running.admin.ask("HEAD", "/metrics"), running.admin.get("/metrics")
    assert head.status == whole.status == 200 and head.body == b""
    assert head.get(b"content-type") == whole.get(b"content-type")
    assert whole.get(b"cache-control") == b"no-store"


@pytest.mark.parametrize("method, target, status, allow", [
    ("GET", "/", 404, None), ("GET", "/metrics/", 404, None), ("POST", "/nothing", 404, None),
    ("POST", "/metrics", 405, b"GET, HEAD"), ("DELETE", "/connections", 405, b"GET, HEAD"),
    ("GET", "/reload", 405, b"POST"), ("HEAD", "/reload", 405, b"POST"),
    ("GET", "http://example.com/", 404, None), ("CONNECT", "127.0.0.1:1", 404, None),
    ("OPTIONS", "*", 404, None)])
def test_nothing_else_is_there(running, method, target, status, allow):
    answer = running.admin.ask(method, target)
    assert answer.status == status and answer.get(b"allow") == allow
    assert running.admin.metric("weir_configuration_generation") == 1


def test_it_is_no_proxy(running, make_origin):
    origin = make_origin()
    with Client(running.socket) as client:
        assert client.ask(get(origin)).status == 404
    assert not origin.connections


def test_web_pages_cannot_reload(running):
    """A page in a browser on the machine can make it send POST, but not without saying so."""
    answer = running.admin.ask("POST", "/reload", b"Origin: http://evil.example\r\n")
    assert answer.status == 403
    assert running.admin.metric("weir_reloads_total") == 0


@pytest.mark.parametrize("host", [b"evil.example", b"evil.example:9901", b"127.0.0.1.evil.example"])
def test_web_pages_cannot_read(running, host):
    """A site may have its name lead here, and then its pages ask in their own name."""
    with Client(running.socket) as client:
        answer = client.ask(b"GET /connections HTTP/1.1\r\nHost: %s\r\n\r\n" % host)
        assert answer.status == 403 and b"connections" not in answer.body
    for name in (b"weir", b"localhost:9901", b"127.0.0.1:9901", b"[::1]:9901"):
        with Client(running.socket) as client:
            assert client.ask(b"GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n" % name).status == 200


def test_clients_of_the_proxy_do_not_reach_it(start_weir, tmp_path):
    file = tmp_path / "weir.yaml"
    file.write_text("listen: [ { address: '127.0.0.1:0' } ]\nadmin: 127.0.0.1:0\n")
    weir = start_weir("-c", str(file))
    admin_line = re.compile(r"admin is at 127\.0\.0\.1:(\d+)")
    weir.wait(lambda: admin_line.search(weir.said()), "the admin's line", 8)
    said = admin_line.search(weir.said())
    for host in (b"127.0.0.1", b"localhost", b"0.0.0.0", b"[::ffff:127.0.0.1]", b"[::ffff:0:0]"):
        authority = b"%s:%s" % (host, said[1].encode())
        for request in (b"GET http://%s/connections HTTP/1.1\r\nHost: a\r\n\r\n",
                        b"POST http://%s/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
                        b"CONNECT %s HTTP/1.1\r\nHost: a\r\n\r\n"):
            with Client(weir.address) as client:
                answer = client.ask(request % authority)
                assert answer.status == 403
                assert b"destination_ip_prohibited" in answer.get(b"proxy-status")
    assert Admin(("127.0.0.1", int(said[1]))).metric("weir_reloads_total") == 0


def test_connection_is_kept_and_pipelined(running):
    with Client(running.socket) as client:
        client.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
                    b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().body == b"ok\n"
        assert client.response().body == b"ready\n"
        assert client.ask(b"NONSENSE\r\n\r\n", method=b"GET").status == 400


def test_only_its_owner_may_connect(running):
    assert stat.S_IMODE(os.stat(running.socket).st_mode) == 0o600


# --- metrics

def test_metrics_count_what_was_done(start_weir, tmp_path, make_origin):
    origin = make_origin()
    running = Running(start_weir, tmp_path, workers=2)
    for number in range(6):  # connections of their own: both workers get some
        with Client(running.weir.address) as client:
            assert client.ask(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789"
                              % origin.url("/ab").encode()).body == b"/ab"
            assert client.ask(b"BAD\r\n\r\n", method=b"GET").status == 400
    running.weir.settle(lambda: running.admin.metric("weir_client_connections_open") == 0,
                        "clients to be gone")
    families = running.admin.families()
    values = {name: family.samples.get("") for name, family in families.items()}
    assert values["weir_client_connections_total"] == 6
    assert values["weir_exchanges_total"] == 12
    assert values["weir_exchanges_failed_total"] == 6
    assert values["weir_exchanges_open"] == 0
    assert values["weir_request_bytes_total"] == 60
    reused = values["weir_server_connections_reused_total"]
    assert values["weir_server_connections_total"] + reused == 6
    assert values["weir_workers"] == 2
    assert families["weir_exchanges_total"].kind == "counter"
    assert families["weir_exchanges_open"].kind == "gauge"


def test_metrics_of_the_process(running):
    values = {name: list(family.samples.values())[0]
              for name, family in running.admin.families().items()}
    memory = running.weir.memory()
    assert memory / 2 < values["process_resident_memory_bytes"] < memory * 2
    difference = running.weir.descriptors() - values["process_open_fds"]
    assert abs(difference) <= 2, "who asks comes and goes"
    assert values["process_max_fds"] >= values["process_open_fds"]
    assert 0 <= values["weir_uptime_seconds"] < 60
    assert values["process_cpu_seconds_total"] > 0
    assert values["weir_reload_success"] == 1 and values["weir_draining"] == 0
    version = program.run("--version").stdout.split()[1]
    assert running.admin.families()["weir_build_info"].samples == {f'{{version="{version}"}}': 1}


def test_the_admins_own_requests_do_not_count(running):
    for unused in range(3):
        running.admin.get("/status")
    assert running.admin.metric("weir_exchanges_total") == 0
    assert running.admin.metric("weir_client_connections_total") == 0


@pytest.mark.parametrize("text", [
    "a 1", "# HELP a x\n# TYPE a gauge\n", "# HELP a x\n# TYPE a gauge\na 1\na 2\n",
    "# TYPE a gauge\na 1\n", "# HELP a x\n# TYPE a counter\na 1\n", "# HELP a x\na 1\n",
    "# HELP a x\n# TYPE a gauge\na 1\n# HELP b x\n# TYPE b gauge\nb 1\na 1\n",
    "# HELP a x\n# TYPE a gauge\na{b=1} 1\n", "# HELP a x\n# TYPE a gauge\na 0x1\n",
    "# HELP a x\n# TYPE a gauge\n\na 1\n", '# HELP a x\n# TYPE a gauge\na{b="\\x"} 1\n'])
def test_the_reader_of_metrics_is_strict(text):
    with pytest.raises(AssertionError):
        admin_client.parse(text)


# --- connections

def test_connections_tell_what_runs(start_weir, tmp_path, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on))
    running = Running(start_weir, tmp_path, workers=2)
    with Client(running.weir.address) as client, Client(running.weir.address) as idle:
        idle.send(b"GET http://")
        client.send(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345"
                    % origin.url("/secret").encode())
        assert asked.wait(5)
        running.weir.settle(lambda: len(running.admin.connections()) == 3, "three connections")
        clients = {found["peer"]: found for found in running.admin.connections("client")}
        busy = clients[f"127.0.0.1:{client.port}"]
        assert busy["protocol"] == "h1" and not busy["closing"] and busy["age_ms"] < 8000
        [exchange] = busy["exchanges"]
        assert exchange["method"] == "POST" and exchange["state"] == "waiting"
        assert exchange["authority"] == origin.authority.decode()
        assert (exchange["request_bytes"], exchange["response_bytes"]) == (5, 0)
        assert clients[f"127.0.0.1:{idle.port}"]["exchanges"] == []
        [server] = running.admin.connections("server")
        assert server["peer"] == origin.authority.decode()
        assert server["exchanges"][0]["authority"] == origin.authority.decode()
        assert b"secret" not in running.admin.get("/connections").body
        go_on.set()
        assert client.response().body == b"late"
        running.weir.settle(lambda: not running.admin.connections("server")[0]["exchanges"],
                            "the exchange to end")


def test_tunnel_is_shown(running, make_origin):
    origin = make_origin(lambda connection: connection.wait_end())
    with Client(running.weir.address) as client:
        assert client.connect(origin.authority, b"abc").status == 200
        running.weir.settle(lambda: [exchange for found in running.admin.connections("client")
                                     for exchange in found["exchanges"]
                                     if exchange["request_bytes"] == 3], "the tunnel's bytes")
        [server] = running.admin.connections("server")
        assert server["protocol"] == "raw"
        assert server["exchanges"][0]["state"] == "tunnel"


def test_what_clients_send_stays_a_value(running, make_origin):
    """Whatever a client calls its target, the answer is JSON, and not larger than it is to be."""
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on))
    weird = b'"},\\{\xff' + b"x" * 5000
    with Client(running.weir.address) as client:
        client.send(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (origin.url().encode(), weird))
        with Client(running.weir.address) as other:
            other.send(b"GET http://%s/ HTTP/1.1\r\nHost: a\r\n\r\n" % (b"x" * 5000))
            running.weir.settle(lambda: running.admin.get("/connections").status == 200, "JSON")
            assert len(running.admin.get("/connections").body) < 3000
            running.admin.connections()
        go_on.set()


def test_many_connections_are_one_large_answer(running):
    clients = [Client(running.weir.address) for unused in range(600)]
    for client in clients:
        client.send(b"GET ")
    running.weir.settle(lambda: len(running.admin.connections()) == 600, "all of them", 10)
    slow = Client(running.socket, receive_buffer=4096)
    slow.send(b"GET /connections HTTP/1.1\r\nHost: a\r\n\r\n")
    assert running.admin.get("/healthz").status == 200
    answer = slow.response()
    assert len(answer.body) > 65536 and len(json.loads(answer.body)["connections"]) == 600
    for client in [*clients, slow]:
        client.close()


# --- readiness and the end

def test_readiness_ends_when_weir_is_told_to_stop(running, make_origin):
    asked, go_on = threading.Event(), threading.Event()
    origin = make_origin(waiting(asked, go_on))
    with Client(running.weir.address) as client:
        client.send(get(origin))
        assert asked.wait(5)
        running.weir.terminate()
        running.weir.settle(lambda: running.admin.get("/readyz").status == 503, "not ready")
        assert running.admin.get("/readyz").body == b"stopping\n"
        assert running.admin.get("/healthz").status == 200
        assert running.admin.metric("weir_draining") == 1
        assert running.admin.reload().status == 503
        assert "stopping" in running.admin.get("/status").body.decode()
        assert running.weir.process.poll() is None
        go_on.set()
        assert client.response().body == b"late"
    running.weir.finish(5)


def test_clients_of_the_admin_do_not_hold_up_the_end(running):
    with Client(running.socket) as half, Client(running.socket) as idle:
        half.send(b"GET /met")
        assert idle.ask(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").status == 200
        running.weir.terminate()
        running.weir.finish(5)


# --- the commands

def test_status_command(running, make_origin):
    origin = make_origin()
    with Client(running.weir.address) as client:
        assert client.ask(get(origin)).status == 200
    done = program.run("status", "-c", str(running.file))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"process {running.weir.pid}, serving" in done.stdout
    assert f"listening on: {running.weir.authority}\n" in done.stdout
    assert "exchanges: 0 open, 1 since the start, 0 failed" in done.stdout
    assert len(done.stdout.splitlines()) < 12


def test_reload_command(running):
    done = program.run("reload", "-c", str(running.file))
    assert (done.returncode, done.stdout) == (0, "The configuration is in force.\n")
    assert running.admin.metric("weir_configuration_generation") == 2


def test_reload_with_mistakes_says_them(running, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(running.file.read_text())
    running.write("nonsense: 1\n")
    answer = running.admin.reload()
    assert answer.status == 422
    assert f"{running.file}:4:1: nonsense: " in answer.body.decode()
    done = program.run("reload", "-c", str(other))  # a sound file that leads to the same weir
    assert done.returncode == 78 and f"{running.file}:4:1: nonsense: " in done.stderr
    done = program.run("reload", "-c", str(running.file))
    assert done.returncode == 78 and f"{running.file}:4:1: nonsense: " in done.stderr
    values = running.admin.families()
    assert values["weir_reload_success"].samples[""] == 0
    assert values["weir_reloads_failed_total"].samples[""] == 2
    assert values["weir_configuration_generation"].samples[""] == 1
    assert "FAILED" in program.run("status", "-c", str(other)).stdout
    running.write("")
    assert running.admin.reload().status == 200
    assert running.admin.metric("weir_reload_success") == 1


@pytest.mark.parametrize("command", ["status", "reload"])
def test_commands_without_a_weir(command, tmp_path):
    file = tmp_path / "weir.yaml"
    file.write_text(f"admin: unix:{tmp_path}/admin.sock\n")
    done = program.run(command, "-c", str(file))
    assert done.returncode == 1 and "no weir answers" in done.stderr
    file.write_text("workers: 1\n")
    done = program.run(command, "-c", str(file))
    assert done.returncode == 1 and "admin" in done.stderr
    file.write_text("nonsense: 1\n")
    assert program.run(command, "-c", str(file)).returncode == 78


@pytest.mark.parametrize("command", ["status", "reload"])
def test_commands_load_no_plugins(command, tmp_path):
    """Only the running weir does: what load() does here would be done beside it."""
    source = tmp_path / "said.c"
    source.write_text(filter_source("said"))
    plugin = compile_plugin(tmp_path, "said", source)
    file = tmp_path / "weir.yaml"
    file.write_text(f"admin: unix:{tmp_path}/admin.sock\nplugins: [ {plugin} ]\n"
                    "filters: [ { use: said } ]\n")
    assert "this is one" in program.run("check", "-c", str(file)).stderr
    done = program.run(command, "-c", str(file))
    assert done.returncode == 1 and "no weir answers" in done.stderr
    assert "this is one" not in done.stderr


def test_commands_ask_no_other_program(tmp_path, make_origin):
    origin = make_origin(lambda connection: connection.send(b"SSH-2.0-OpenSSH\r\n"))
    file = tmp_path / "weir.yaml"
    file.write_text(f"admin: 127.0.0.1:{origin.port}\n")
    done = program.run("status", "-c", str(file))
    assert done.returncode == 1 and "no weir" in done.stderr
