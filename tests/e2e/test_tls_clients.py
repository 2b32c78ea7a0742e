"""TLS with clients: what they are shown, what they must show, resumption, reload, the log."""
import hashlib
import socket
import ssl
import subprocess
import time

import pytest

import curl
from certificates import Authority
from origin import always, ok
from plugins import built



def request(origin):
    return (b"GET http://%b/ HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n"
            % (origin.authority, origin.authority))


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def localhost(authority):
    return authority.issue("first")


@pytest.fixture
def write(tmp_path):
    """Writes a configuration with a listener that has that section."""
    def make(tls, more=""):
        path = tmp_path / "weir.yaml"
        path.write_text(f"workers: 2\nlisten:\n  - address: 127.0.0.1:0\n    tls: {tls}\n{more}")
        return path
    return make


@pytest.fixture
def start(start_weir, write, localhost):
    def begin(tls=None, more="", **variables):
        return start_weir("-c", str(write(tls or f"{{ certificates: [ {localhost.yaml()} ] }}", more)),
                          **variables)
    return begin


def context_for(authority, **attributes):
    context = ssl.create_default_context(cafile=str(authority.certificate))
    for name, value in attributes.items():
        setattr(context, name, value)
    return context


def open_tls(weir, context, name="localhost", **options):
    return context.wrap_socket(socket.create_connection(weir.address, timeout=10),
                               server_hostname=name, **options)


def read_all(stream):
    received = b""
    while part := stream.recv(65536):
        received += part
    return received


def s_client(weir, authority, *arguments, text=""):
    return subprocess.run(
        ["openssl", "s_client", "-connect", weir.authority, "-CAfile",
         str(authority.certificate), *map(str, arguments)],
        input=text, capture_output=True, text=True, timeout=20).stdout


@pytest.mark.parametrize("version", [["--tlsv1.3"], ["--tls-max", "1.2"]])
@pytest.mark.parametrize("tunnel", [[], ["--proxytunnel"]])
def test_curl_through_an_https_proxy(start, authority, make_origin, version, tunnel):
    origin = make_origin()
    weir = start()
    done = curl.run("--proxy", f"https://localhost:{weir.address[1]}", "--proxy-cacert",
                    str(authority.certificate), *version, *tunnel, origin.url(), "--output",
                    "/dev/null", "--write-out", "%{http_code} %{proxy_ssl_verify_result}")
    assert done.stdout == b"200 0"


def test_http11_is_agreed_and_nothing_else(start, authority):
    weir = start()
    context = context_for(authority)
    context.set_alpn_protocols(["odd", "http/1.1"])
    with open_tls(weir, context) as stream:
        assert stream.selected_alpn_protocol() == "http/1.1"
    context.set_alpn_protocols(["odd"])
    with pytest.raises(ssl.SSLError, match="no application protocol"):
        open_tls(weir, context)
    weir.wait(lambda: "no application protocol that both sides speak" in weir.said(), "the log", 5)


def test_a_large_answer_comes_whole_and_ends_with_close_notify(start, authority, make_origin):
    body = bytes(range(256)) * 40000
    origin = make_origin(always(ok(body)))
    weir = start()
    context = context_for(authority)
    with open_tls(weir, context, suppress_ragged_eofs=False) as stream:
        stream.sendall(request(origin))
        head, _, received = read_all(stream).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200") and received == body


def test_the_name_chooses_the_certificate(start, authority):
    one, two = authority.issue("one", "DNS:one.example"), authority.issue("two", "DNS:*.two.example")
    weir = start(f"{{ certificates: [ {one.yaml()}, {two.yaml()} ] }}")
    context = context_for(authority)
    for name, shown in (("one.example", "one"), ("a.two.example", "two")):
        with open_tls(weir, context, name) as stream:
            assert stream.getpeercert()["subject"] == ((("commonName", shown),),)
    context.check_hostname = False
    with open_tls(weir, context, "unknown.example") as stream:
        assert stream.getpeercert()["subject"] == ((("commonName", "one"),),)


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_a_session_is_resumed_on_any_worker_and_after_a_reload(start, authority, make_origin,
                                                               tmp_path, version):
    origin = make_origin()
    weir = start()
    session = tmp_path / "session"
    command = [version, "-servername", "localhost", "-quiet", "-sess_out", session]
    child = subprocess.Popen(
        ["openssl", "s_client", "-connect", weir.authority, *map(str, command)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    child.stdin.write(request(origin))
    child.stdin.flush()
    weir.settle(lambda: session.exists() and b"END" in session.read_bytes(), "a session")
    child.communicate(timeout=20)
    weir.reload()
    for _ in range(4):
        said = s_client(weir, authority, version, "-servername", "localhost", "-sess_in", session)
        assert "Reused, TLSv1" in said, said


def test_no_tickets(start, authority, localhost, tmp_path):
    weir = start(f"{{ certificates: [ {localhost.yaml()} ], tickets: false }}")
    said = s_client(weir, authority, "-tls1_2", "-servername", "localhost")
    assert "TLS session ticket:" not in said and "TLSv1.2" in said


def test_the_oldest_version_is_a_setting(start, authority, localhost):
    weir = start(f"{{ certificates: [ {localhost.yaml()} ], minimum_version: 1.3 }}")
    with pytest.raises(ssl.SSLError):
        open_tls(weir, context_for(authority, maximum_version=ssl.TLSVersion.TLSv1_2))
    with open_tls(weir, context_for(authority)) as stream:
        assert stream.version() == "TLSv1.3"
    weir.wait(lambda: "no version of TLS that both sides allow" in weir.said(), "the log", 5)


def test_renegotiation_is_refused(start, authority):
    weir = start()
    said = subprocess.run(
        f"(sleep 0.5; echo R; sleep 0.5) | openssl s_client -tls1_2 -connect {weir.authority} 2>&1",
        shell=True, capture_output=True, text=True, timeout=20).stdout
    assert "no renegotiation" in said or "handshake failure" in said, said


def test_clients_must_show_a_certificate(start, authority, localhost, make_origin, tmp_path):
    origin = make_origin()
    ann = authority.issue("ann", "email:ann@example.org")
    fraud = Authority(tmp_path, "other").issue("ann")
    weir = start(f"{{ certificates: [ {localhost.yaml()} ], client_certificates: required, "
                 f"client_ca: {authority.certificate} }}")

    def ask(pair):
        context = context_for(authority)
        if pair:
            context.load_cert_chain(pair.certificate, pair.key)
        with open_tls(weir, context) as stream:
            stream.sendall(request(origin))
            return read_all(stream)
    assert ask(ann).startswith(b"HTTP/1.1 200")
    for pair in (None, fraud):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            ask(pair)
    weir.wait(lambda: "it showed no certificate" in weir.said() and
              "the certificate of the client is not accepted" in weir.said() and
              'issuer "CN=other"' in weir.said(), "the log", 5)


def test_the_log_says_who_is_to_blame(start, authority, tmp_path):
    weir = start()
    with pytest.raises(ssl.SSLError):
        open_tls(weir, ssl.create_default_context())  # it does not know the authority
    with socket.create_connection(weir.address) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        plain.recv(100)
    weir.wait(lambda: "it speaks plain HTTP, not TLS" in weir.said(), "the log", 5)
    said = weir.said()
    assert "the client does not accept our certificate (alert: unknown CA)" in said
    assert 'our certificate: subject "CN=first", issuer "CN=authority"' in said
    socket.create_connection(weir.address).close()  # who only looks is nobody's fault
    time.sleep(0.3)
    assert weir.said() == said


def test_certificates_are_read_again(start_weir, write, authority, tmp_path):
    first, second = authority.issue("before"), authority.issue("after")
    used = tmp_path / "used.pem", tmp_path / "used.key"

    def use(pair, key=None):
        used[0].write_bytes(pair.certificate.read_bytes())
        used[1].write_bytes((key or pair).key.read_bytes())
    use(first)
    path = write(f"{{ certificates: [ {{ certificate: used.pem, key: !file used.key }} ] }}")
    weir = start_weir("-c", str(path))

    def shown():
        with open_tls(weir, context_for(authority)) as stream:
            return stream.getpeercert()["subject"][0][0][1]
    assert shown() == "before"
    kept = open_tls(weir, context_for(authority))
    use(second, key=first)
    weir.reload("not reloaded")
    assert "weir.yaml:4:58: listen[0].tls.certificates[0].key: " in weir.said()
    assert "is not the key of its certificate" in weir.said() and "BEGIN" not in weir.said()
    assert shown() == "before"
    use(second)
    weir.reload()
    assert shown() == "after"
    kept.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
    assert kept.recv(1000).startswith(b"HTTP/1.1 400")
    kept.close()


def test_a_handshake_may_not_take_for_ever(start):
    weir = start(more="timeouts: { handshake: 1s }\n")
    with socket.create_connection(weir.address, timeout=5) as client:
        client.sendall(b"\x16\x03\x01")
        begun = time.monotonic()
        assert client.recv(10) == b""
        assert 0.9 < time.monotonic() - begun < 3
    weir.wait(lambda: "the client did not finish in time" in weir.said(), "the log", 5)


def test_key_log(start, authority, tmp_path):
    log = tmp_path / "keys"
    weir = start(SSLKEYLOGFILE=str(log))
    with open_tls(weir, context_for(authority)):
        weir.settle(lambda: "CLIENT_TRAFFIC_SECRET_0" in log.read_text(), "the secrets")
    assert "CLIENT_TRAFFIC_SECRET_0 " in log.read_text()


def test_forwarded_says_https(start, authority, make_origin):
    origin = make_origin()
    weir = start(more=f"upstream: {{ app: {{ servers: [ {origin.authority.decode()} ] }} }}\n"
                 "fixed_upstream: app\nfilters: [ { use: headers, with: { forwarded: {} } } ]\n")
    with open_tls(weir, context_for(authority)) as stream:
        stream.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        read_all(stream)
    came = origin.requests[0]
    assert came.get(b"X-Forwarded-Proto") == b"https" and b"proto=https" in came.get(b"Forwarded")


def test_a_certificate_is_a_credential(start, authority, localhost, make_origin):
    origin = make_origin()
    bob = authority.issue("bob")
    fingerprint = hashlib.sha256(ssl.PEM_cert_to_DER_cert(bob.certificate.read_text())).hexdigest()
    weir = start(f"{{ certificates: [ {localhost.yaml()} ], client_certificates: optional, "
                 f"client_ca: {authority.certificate} }}",
                 f"plugins: [ {built('gate')} ]\n"
                 f"filters: [ {{ use: gate, with: {{ secret: {fingerprint} }} }} ]\n")

    def ask(pair):
        context = context_for(authority)
        if pair:
            context.load_cert_chain(pair.certificate, pair.key)
        with open_tls(weir, context) as stream:
            stream.sendall(request(origin))
            return read_all(stream)
    assert b"x-gate: gate bob\r\n" in ask(bob)
    assert ask(None).startswith(b"HTTP/1.1 403")
    assert ask(authority.issue("eve")).startswith(b"HTTP/1.1 403")
