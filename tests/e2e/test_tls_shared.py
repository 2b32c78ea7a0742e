"""TLS with servers that speak HTTP/2, or not: what is agreed, who shares a connection, 421."""
import shutil
import subprocess
import threading
import time

import pytest

pytest.importorskip("h2", reason="needs Debian's python3-h2")

import secure_origins  # noqa: E402
from certificates import Authority, openssl  # noqa: E402
from client import Client  # noqa: E402

REAL = [pytest.param(name, marks=pytest.mark.skipif(not secure_origins.program(name),
                                                    reason=f"needs {name}"))
        for name in ("nginx", "haproxy")]


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def keep():
    """Stops what it is given."""
    kept = []
    yield lambda one: kept.append(one) or one
    for one in kept:
        one.stop()


@pytest.fixture
def start(start_weir, tmp_path, authority):
    def begin(more=""):
        path = tmp_path / "weir.yaml"
        path.write_text("workers: 1\nlisten: [ { address: 127.0.0.1:0 } ]\n"
                        f"server_tls: {{ ca_files: {authority.certificate} }}\n{more}")
        return start_weir("-c", str(path))
    return begin


def ask(client, url, fields=b""):
    return client.ask(b"GET %b HTTP/1.1\r\nHost: x\r\n%b\r\n" % (url.encode(), fields))


def ask_together(weir, urls):
    """The bodies, of as many clients at once."""
    bodies = [None] * len(urls)

    def run(at):
        with Client(weir.address) as client:
            bodies[at] = ask(client, urls[at]).body

    threads = [threading.Thread(target=run, args=[at]) for at in range(len(urls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return bodies


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("h2", [True, False])
def test_what_the_server_likes_best(start, authority, keep, tmp_path, name, h2):
    origin = keep(getattr(secure_origins, name)(tmp_path, authority.issue("real"), h2))
    weir = start()
    with Client(weir.address) as client:
        bodies = [ask(client, f"https://localhost:{origin.port}/{at}").body.split()
                  for at in range(5)]
    assert [version[:6] for version, _, _ in bodies] == [b"HTTP/2" if h2 else b"HTTP/1"] * 5
    assert len({connection for _, connection, _ in bodies}) == 1
    assert [target.rpartition(b"/")[2] for _, _, target in bodies] == [b"%d" % at
                                                                      for at in range(5)]


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_a_group_that_says_its_protocol(start, authority, keep, tmp_path, name, protocol):
    origin = keep(getattr(secure_origins, name)(tmp_path, authority.issue("real"), True))
    weir = start("fixed_upstream: app\nupstream:\n  app:\n"
                 f"    servers: [ localhost:{origin.port} ]\n    protocol: {protocol}\n"
                 f"    tls: {{ ca_files: {authority.certificate} }}\n")
    with Client(weir.address) as client:
        assert ask(client, "/x").body.startswith(b"HTTP/1" if protocol == "h1" else b"HTTP/2")


def test_a_group_that_does_not(start, authority, keep):
    origin = keep(secure_origins.CountingOrigin(authority.issue("group")))
    weir = start("fixed_upstream: app\nupstream:\n  app:\n"
                 f"    servers: [ localhost:{origin.port} ]\n"
                 f"    tls: {{ ca_files: {authority.certificate} }}\n")
    with Client(weir.address) as client:
        assert ask(client, "/x").body == b"HTTP/2 1 /x"


def test_all_who_come_at_once_share_one_handshake(start, authority, keep):
    origin = keep(secure_origins.CountingOrigin(authority.issue("shared"), together=20))
    weir = start()
    urls = [f"https://localhost:{origin.port}/{at}" for at in range(20)]
    assert ask_together(weir, urls) == [b"HTTP/2 1 /%d" % at for at in range(20)]
    assert origin.connections == 1


def test_what_is_idle_ends_with_a_word(start, authority, keep):
    origin = keep(secure_origins.CountingOrigin(authority.issue("idle")))
    weir = start()
    with Client(weir.address) as client:
        assert ask(client, f"https://localhost:{origin.port}/").status == 200
    weir.terminate()
    weir.finish()
    end = time.monotonic() + 5
    while not origin.ended and time.monotonic() < end:
        time.sleep(0.01)
    assert origin.ended == origin.connections == 1


def test_421_is_asked_again_on_a_connection_of_its_own(start, authority, keep):
    origin = keep(secure_origins.CountingOrigin(
        authority.issue("misdirected"),
        status=lambda connection, path: 421 if (connection, path) == (1, "/other") else 200))
    weir = start()
    with Client(weir.address) as client:
        url = f"https://localhost:{origin.port}"
        assert ask(client, f"{url}/one").body == b"HTTP/2 1 /one"
        answer = ask(client, f"{url}/other")
        assert (answer.status, answer.body) == (200, b"HTTP/2 2 /other")
    assert origin.paths == [(1, "/one"), (1, "/other"), (2, "/other")]


def test_421_of_a_fresh_connection_is_the_answer(start, authority, keep):
    origin = keep(secure_origins.CountingOrigin(authority.issue("misdirected"),
                                                status=lambda connection, path: 421))
    weir = start()
    with Client(weir.address) as client:
        assert ask(client, f"https://localhost:{origin.port}/").status == 421
    assert origin.connections == 1


def test_filters_and_the_log_know_both_legs(start_weir, tmp_path, authority, keep):
    origin = keep(secure_origins.CountingOrigin(authority.issue("legs")))
    own, ann = authority.issue("front"), authority.issue("ann")
    facts = ("{client_protocol} {client_tls} {client_cipher} {client_tls_name} "
             "{client_certificate} {client_fingerprint} {server_protocol} {server_tls} "
             "{server_cipher}")
    log, path = tmp_path / "access.log", tmp_path / "weir.yaml"
    path.write_text(f"""workers: 1
listen: [ {{ address: 127.0.0.1:0, tls: {{ certificates: [ {own.yaml()} ],
             client_certificates: required, client_ca: {authority.certificate} }} }} ]
fixed_upstream: app
upstream: {{ app: {{ servers: [ localhost:{origin.port} ],
                    tls: {{ ca_files: {authority.certificate} }} }} }}
filters: [ {{ use: headers, with: {{ response: {{ set: {{ X-Facts: "{facts}" }} }} }} }} ]
log: {{ access: {{ format: "{facts} {{server_tls_name}}", file: {log} }} }}
""")
    weir = start_weir("-c", str(path))
    done = subprocess.run(
        ["curl", "-sSi", "--max-time", "10", "--http1.1", "--cacert", str(authority.certificate),
         "--cert", str(ann.certificate), "--key", str(ann.key),
         f"https://localhost:{weir.address[1]}/"], capture_output=True, text=True, timeout=20)
    print_of = openssl("x509", "-in", ann.certificate, "-noout", "-fingerprint", "-sha256")
    fingerprint = print_of.stdout.decode().partition("=")[2].strip().replace(":", "").lower()
    said = [line for line in done.stdout.splitlines() if line.lower().startswith("x-facts: ")]
    version, suite = "TLSv1.3", "TLS_AES_256_GCM_SHA384"
    expected = (f"h1 {version} {suite} localhost CN=ann {fingerprint} h2 {version} {suite}")
    assert [line[9:] for line in said] == [expected], done
    weir.terminate()
    weir.finish()
    assert log.read_text() == expected + " localhost\n"


def test_who_switches_protocols_asks_for_http_1(start, authority, keep, tmp_path):
    if not shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin"):
        pytest.skip("needs nginx")
    origin = keep(secure_origins.nginx(tmp_path, authority.issue("switch"), True))
    weir = start()
    with Client(weir.address) as client:
        answer = ask(client, f"https://localhost:{origin.port}/",
                     b"Connection: upgrade\r\nUpgrade: websocket\r\n")
    assert answer.body.startswith(b"HTTP/1.1 ")
