"""auth-basic: who has a name and password comes in; passwords are checked off the workers."""
import base64
import ctypes
import time

import pytest

import curl
from client import Client
from program import run
from socks5 import Socks5Client, request
from test_reload import Running
from test_tunnel import echo

HASHES = {  # of the name as a password
    "bcrypt": "$2y$04$aaaaaaaaaaaaaaaaaaaaaO",
    "bcrypt-b": "$2b$04$bbbbbbbbbbbbbbbbbbbbbO",
    "bcrypt-a": "$2a$04$cccccccccccccccccccccO",
    "sha512": "$6$rounds=1000$saltsalt",
    "sha256": "$5$rounds=1000$saltsalt",
    "yescrypt": "$y$j75$saltsaltsaltsalt",
}
SLOW = "$2y$10$abcdefghijklmnopqrstuu"  # about a tenth of a second


def hashed(password, setting=HASHES["bcrypt"]):
    library = ctypes.CDLL("libcrypt.so.1")
    library.crypt.restype = ctypes.c_char_p
    made = library.crypt(password.encode(), setting.encode()).decode()
    assert made.startswith(setting[:7]), made
    return made


def uses(users, more="", **options):
    listed = ", ".join(f"{name}: '{word}'" for name, word in users.items())
    keys = "".join(f", {key}: {value}" for key, value in options.items())
    return f"filters:\n  - use: auth-basic\n    with: {{ users: {{ {listed} }}{more} }}\n" + (
        f"    {keys[2:]}\n" if keys else "")


USERS = {"al": hashed("open"), "Jörg": hashed("süß")}


def basic(name, secret, field="Proxy-Authorization"):
    token = base64.b64encode(f"{name}:{secret}".encode()).decode()
    return f"{field}: Basic {token}\r\n".encode()


def asking(origin, fields=b"", path="/"):
    return b"GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (origin.url(path).encode(), fields)


@pytest.fixture
def start(start_weir, tmp_path):
    def begin(text, workers=1, **options):
        return Running(start_weir, tmp_path, text, workers=workers, **options)
    return begin


def checks(running):
    return running.admin.metric("weir_plugin_auth_basic_checks_total")


def results(running):
    samples = running.admin.families()["weir_plugin_auth_basic_requests_total"].samples
    return {labels.split('"')[1]: count for labels, count in samples.items()}


# --- requests

def test_asked_for_and_given_on_one_connection(start, make_origin):
    origin = make_origin()
    running = start(uses(USERS))
    with Client(running.weir.address) as client:
        refused = client.ask(asking(origin))
        assert refused.status == 407
        assert refused.all(b"proxy-authenticate") == [b'Basic realm="weir", charset="UTF-8"']
        assert refused.get(b"connection") is None and b"credentials" in refused.body
        for name, secret in [("al", "open"), ("Jörg", "süß"), ("al", "open")]:
            assert client.ask(asking(origin, basic(name, secret))).status == 200
        assert client.ask(asking(origin)).status == 407, "each request says it anew"
    assert len(origin.requests) == 3
    assert not any(request.all(b"proxy-authorization") for request in origin.requests)
    assert checks(running) == 2
    assert results(running) == {"accepted": 3}


def test_connect_asked_for_and_given(start, make_origin):
    origin = make_origin(echo)
    running = start(uses(USERS))
    line = b"CONNECT %s HTTP/1.1\r\nHost: a\r\n" % origin.authority
    with Client(running.weir.address) as client:
        assert client.ask(line + b"\r\n").status == 407
        assert client.ask(line + basic("al", "shut") + b"\r\n").status == 407
        assert client.ask(line + basic("al", "open") + b"\r\n").status == 200
        client.send(b"ping")
        assert client.reader.take(4) == b"ping"
    assert origin.connection().received == b"ping"


@pytest.mark.parametrize("fields", [
    basic("al", "shut"), basic("al", ""), basic("al", "open "), basic("al", "open\0"),
    basic("al", "o" * 1000), basic("nobody", "open"), basic("AL", "open"), basic("", "open"),
    b"Proxy-Authorization: Basic\r\n", b"Proxy-Authorization: Basic !!\r\n",
    b"Proxy-Authorization: Basic YWw=\r\n", b"Proxy-Authorization: Bearer open\r\n",
    b"Proxy-Authorization: password al:open\r\n", basic("al", "open", "Authorization")])
def test_refused(start, make_origin, fields):
    origin = make_origin()
    running = start(uses(USERS))
    with Client(running.weir.address) as client:
        for unused in range(2):
            assert client.ask(asking(origin, fields)).status == 407
        assert client.ask(asking(origin, basic("al", "open"))).status == 200
    assert len(origin.requests) == 1


def test_the_first_field_counts(start, make_origin):
    origin = make_origin()
    running = start(uses(USERS))
    with Client(running.weir.address) as client:
        both = basic("al", "shut") + basic("al", "open")
        assert client.ask(asking(origin, both)).status == 407


def test_a_file_with_hashes_of_all_kinds(start, make_origin, tmp_path):
    origin = make_origin()
    (tmp_path / "users.htpasswd").write_text("# all kinds\n\n" + "".join(
        f"{name}:{hashed(name, setting)}\n" for name, setting in HASHES.items()))
    running = start("filters: [ { use: auth-basic, with: { file: users.htpasswd } } ]\n")
    with Client(running.weir.address) as client:
        for name in HASHES:
            assert client.ask(asking(origin, basic(name, name))).status == 200, name
            assert client.ask(asking(origin, basic(name, "other"))).status == 407, name


def test_curl(start, make_origin):
    origin = make_origin()
    running = start(uses(USERS))
    for more in (["--proxy-anyauth"], ["--proxy-basic"], ["--proxy-anyauth", "--proxytunnel"]):
        done = curl.run("--proxy-user", "al:open", "--fail", *more, origin.url(),
                        proxy=running.weir)
        assert done.stdout == b"/", more
    done = curl.run("--proxy-user", "al:shut", "--write-out", "%{http_code}", origin.url(),
                    proxy=running.weir)
    assert done.stdout.endswith(b"407")


def test_who_it_is_is_known_to_others(start, make_origin, tmp_path):
    origin = make_origin()
    log = tmp_path / "access.log"
    running = start(uses(USERS) + "  - { use: headers, with: { request: { set: { X-User: '{user}' } } } }\n"
                    f"log: {{ access: {{ format: '{{user}} {{status}}', file: {log} }} }}\n")
    with Client(running.weir.address) as client:
        own = basic("mine", "own", "Authorization")
        assert client.ask(asking(origin, own)).status == 407
        assert client.ask(asking(origin, own + basic("al", "open"))).status == 200
    assert origin.requests[0].all(b"x-user") == [b"al"]
    assert origin.requests[0].all(b"authorization") == [b"Basic bWluZTpvd24="]
    running.weir.settle(lambda: log.read_text().count("\n") == 2, "two lines")
    assert log.read_text() == "- 407\nal 200\n"


# --- servers

def test_in_place_of_a_server(start, make_origin):
    origin = make_origin()
    app = f"upstream: {{ app: {{ servers: [ {origin.authority.decode()} ] }} }}\nfixed_upstream: app\n"
    running = start(uses(USERS, ", as: server, realm: 'the \"app\"'") + app)
    plain = b"GET /a HTTP/1.1\r\nHost: app\r\n%s\r\n"
    with Client(running.weir.address) as client:
        refused = client.ask(plain % b"")
        assert refused.status == 401 and not refused.all(b"proxy-authenticate")
        assert refused.all(b"www-authenticate") == [
            b'Basic realm="the \\"app\\"", charset="UTF-8"']
        assert client.ask(plain % basic("al", "open")).status == 401
        assert client.ask(plain % basic("al", "shut", "Authorization")).status == 401
        assert client.ask(plain % basic("al", "open", "authorization")).status == 200
        running.reload(uses(USERS, ", as: server, hide: true") + app)
        assert client.ask(plain % basic("al", "open", "Authorization")).status == 200
    assert [len(request.all(b"authorization")) for request in origin.requests] == [1, 0]


def test_one_route_alone(start, make_origin):
    origin = make_origin()
    entry = uses(USERS).replace("\n", "\n    ")
    running = start(f"routes:\n  - when: {{ path: /secret/* }}\n    to: direct\n    {entry}\n")
    with Client(running.weir.address) as client:
        assert client.ask(asking(origin)).status == 200
        assert client.ask(asking(origin, path="/secret/a")).status == 407
        assert client.ask(asking(origin, basic("al", "open"), "/secret/a")).status == 200


def test_socks5(start_weir, tmp_path, make_origin):
    origin = make_origin(echo)
    file = tmp_path / "weir.yaml"
    file.write_text("workers: 1\nlisten: [ { address: 127.0.0.1:0, protocols: [ h1, socks5 ] } ]\n" +
                    uses(USERS))
    weir = start_weir("-c", str(file))

    def ask(secret):
        client = Socks5Client(weir.address)
        client.send(b"\5\1\2")
        assert client.reader.take(2) == b"\5\2"
        client.send(b"\1\2al" + bytes([len(secret)]) + secret)
        return client, client.reader.take(2)

    for unused in range(2):  # checked, then remembered
        client, answer = ask(b"shut")
        assert answer[0] == 1 and answer[1] != 0 and client.ended()
        client, answer = ask(b"open")
        assert answer == b"\1\0"
        client.send(request(origin.authority))
        assert client.reply().status == 200
        client.send(b"ping")
        assert client.reader.take(4) == b"ping"
        client.close()


# --- checks

def test_what_was_right_or_wrong_is_remembered(start, make_origin):
    origin = make_origin()
    running = start(uses(USERS, ", cache: 1h"))
    with Client(running.weir.address) as client:
        for unused in range(5):
            assert client.ask(asking(origin, basic("al", "open"))).status == 200
            assert client.ask(asking(origin, basic("al", "shut"))).status == 407
            assert client.ask(asking(origin, basic("nobody", "open"))).status == 407
    assert checks(running) == 3
    assert results(running) == {"accepted": 5, "refused": 10}


def test_for_a_while_only(start, make_origin):
    origin = make_origin()
    running = start(uses(USERS, ", cache: 300ms"))
    with Client(running.weir.address) as client:
        for wait in (0, 0, 0.5):
            time.sleep(wait)
            assert client.ask(asking(origin, basic("al", "open"))).status == 200
    assert checks(running) == 2


def together(running, origin, secrets):
    """A client for each, all of which have asked."""
    clients = [Client(running.weir.address) for unused in secrets]
    with running.weir.frozen():
        for client, secret in zip(clients, secrets):
            client.send(asking(origin, basic("slow", secret)))
    return clients


def test_many_checks_stall_nobody_else(start, make_origin):
    origin = make_origin()
    running = start(uses({**USERS, "slow": hashed("right", SLOW)}))
    with Client(running.weir.address) as quick:
        assert quick.ask(asking(origin, basic("al", "open"))).status == 200
        clients = together(running, origin, [f"wrong {number}" for number in range(50)])
        for unused in range(10):
            begin = time.monotonic()
            assert quick.ask(asking(origin, basic("al", "open"))).status == 200
            assert time.monotonic() - begin < 1
        assert checks(running) < 51, "they were over too soon to show anything"
        assert [client.response().status for client in clients] == [407] * 50
    assert checks(running) == 51
    for client in clients:
        client.close()


def test_the_same_at_the_same_time_is_checked_once(start, make_origin):
    origin = make_origin()
    running = start(uses({"slow": hashed("right", SLOW)}))
    clients = together(running, origin, ["right"] * 10 + ["wrong"] * 10)
    statuses = [client.response().status for client in clients]
    assert statuses == [200] * 10 + [407] * 10
    assert checks(running) == 2
    for client in clients:
        client.close()


def test_clients_that_do_not_wait(start, make_origin):
    """What has not begun by then is not done."""
    origin = make_origin()
    running = start(uses({"slow": hashed("right", SLOW)}))
    for client in together(running, origin, [f"wrong {number}" for number in range(50)]):
        client.reset()
    with Client(running.weir.address) as client:
        assert client.ask(asking(origin, basic("slow", "right"))).status == 200
    assert checks(running) < 25
    assert not any("failed" in line for line in running.weir.lines)


def test_a_check_that_takes_too_long(start, make_origin):
    origin = make_origin()
    hard = hashed("right", "$2y$12$abcdefghijklmnopqrstuu")
    running = start(uses({"slow": hard}, pause_limit="50ms"))
    with Client(running.weir.address) as client:
        response = client.ask(asking(origin, basic("slow", "right")))
        assert response.status == 503 and response.get(b"retry-after") == b"1"
    assert not origin.requests
    assert results(running) == {"busy": 1}


@pytest.mark.parametrize("how", ["stop", "reload"])
def test_the_end_while_passwords_are_checked(start, make_origin, how):
    origin = make_origin()
    running = start(uses({"slow": hashed("right", SLOW)}), workers=2)
    clients = together(running, origin, ["right"] * 4 + [f"wrong {number}" for number in range(4)])
    if how == "stop":
        running.weir.stop()
    else:
        running.reload(uses(USERS))
        statuses = [client.response().status for client in clients]
        assert statuses == [200] * 4 + [407] * 4, "they began with the old users"
    for client in clients:
        client.close()


def test_somebody_unknown_takes_as_long(start, make_origin):
    origin = make_origin()
    running = start(uses({"slow": hashed("right", SLOW)}))

    def quickest(name):
        times = []
        with Client(running.weir.address) as client:
            for number in range(5):
                begin = time.monotonic()
                assert client.ask(asking(origin, basic(name, f"wrong {number}"))).status == 407
                times.append(time.monotonic() - begin)
        return min(times)

    known, unknown = quickest("slow"), quickest("nobody")
    assert 0.5 < unknown / known < 2, (known, unknown)
    assert checks(running) == 10


# --- configuration

def test_a_reload_reads_the_file_again(start, make_origin, tmp_path):
    origin = make_origin()
    file = tmp_path / "users.htpasswd"
    text = "filters: [ { use: auth-basic, with: { file: users.htpasswd } } ]\n"
    file.write_text(f"al:{hashed('open')}\nbo:{hashed('open')}\n")
    running = start(text)
    with Client(running.weir.address) as client:
        assert client.ask(asking(origin, basic("al", "open"))).status == 200
        file.write_text(f"bo:{hashed('open')}\nal:{hashed('new')}\n")
        assert client.ask(asking(origin, basic("al", "open"))).status == 200
        running.reload(text)
        assert client.ask(asking(origin, basic("al", "open"))).status == 407
        assert client.ask(asking(origin, basic("al", "new"))).status == 200
        file.write_text("al:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")
        answer = running.admin.reload()
        assert answer.status == 422 and b"users.htpasswd:1: this line has a {SHA}" in answer.body
        assert client.ask(asking(origin, basic("bo", "open"))).status == 200


@pytest.mark.parametrize("lines, number, says", [
    ("al:{SHA}x", 1, "has a {SHA} hash, which is guessed too easily: make a bcrypt hash with htpasswd -B"),
    ("#\nal:$apr1$salt$abc", 2, "has an MD5 hash ($apr1$)"),
    ("\n\nal:hidden", 3, "has plain text or a hash that weir does not know"),
    ("nothing", 1, "is not NAME:HASH, as htpasswd writes it"),
    ("al:$2y$10$abc", 1, "has a hash that is not whole"),
    ("al:$2y$31$aaaaaaaaaaaaaaaaaaaaaOLnbQIzL1oLLcoCbsLPiBmQUoXXOEbVe", 1,
     "has a bcrypt hash whose cost is not 04 to 16")])
def test_files_with_mistakes(tmp_path, lines, number, says):
    (tmp_path / "users").write_text(f"{lines}\n")
    file = tmp_path / "weir.yaml"
    file.write_text("filters:\n  - { use: auth-basic, with: { file: users } }\n")
    ended = run("check", "-c", str(file))
    assert ended.returncode == 78
    assert f"{file}:2:" in ended.stderr and "with.file: " in ended.stderr
    assert f"{tmp_path}/users:{number}: this line {says}" in ended.stderr, ended.stderr
    assert "hidden" not in ended.stderr


@pytest.mark.parametrize("text, says", [
    ("{}", "nobody could come in: file or users must say who may"),
    ("{ file: nowhere }", "nowhere"),
    ("{ users: { al: hidden } }", "users.al: this user has plain text"),
    ("{ users: { 'a:l': '%s' } }" % USERS["al"], "has a name with : or a control character"),
    ("{ file: twice }", 'the user "al" is there twice'),
    ("{ file: one, users: { al: '%s' } }" % USERS["al"], 'the user "al" is there twice'),
    ("{ file: one, realm: \"a\\nb\" }", "realm: has a control character"),
    ("{ file: one, hide: true }", "hide: is only with as: server"),
    ("{ file: one, as: server, hide: true }", None),
    ("{ file: none }", None)])
def test_sections(tmp_path, text, says):
    for name, times in (("none", 0), ("one", 1), ("twice", 2)):
        (tmp_path / name).write_text(f"al:{USERS['al']}\n" * times)
    file = tmp_path / "weir.yaml"
    file.write_text(f"filters:\n  - {{ use: auth-basic, with: {text} }}\n")
    ended = run("check", "-c", str(file))
    assert ended.returncode == (78 if says else 0), ended.stderr
    assert not says or says in ended.stderr, ended.stderr
    assert "hidden" not in ended.stderr


def test_it_guards_a_listener_for_everybody(tmp_path):
    file = tmp_path / "weir.yaml"
    file.write_text("listen: [ { address: 0.0.0.0:3128 } ]\n" + uses(USERS))
    assert run("check", "-c", str(file)).returncode == 0
    file.write_text("listen: [ { address: 0.0.0.0:3128 } ]\n" + uses(USERS, on_fault="skip"))
    assert run("check", "-c", str(file)).returncode == 78


def test_a_file_without_anybody_lets_nobody_in(start, make_origin, tmp_path):
    (tmp_path / "users").write_text("# nobody yet\n")
    running = start("filters: [ { use: auth-basic, with: { file: users } } ]\n")
    with Client(running.weir.address) as client:
        assert client.ask(asking(make_origin(), basic("al", "open"))).status == 407
