"""TLS with servers: who they must prove to be, what they are offered, resumption, failures."""
import contextlib
import socket
import ssl
import subprocess
import threading

import pytest

import client
from certificates import Authority


class SecureOrigin:
    """Answers each request with 200 and its target, over TLS with that certificate."""

    def __init__(self, pair, **attributes):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pair.certificate, pair.key)
        self.context.set_alpn_protocols(["http/1.1"])
        self.context.sni_callback = lambda stream, name, context: self.names.append(name)
        for name, value in attributes.items():
            setattr(self.context, name, value)
        self.names, self.resumed, self.alpn, self.requests = [], [], [], []
        self.once = False  # ends the connection after an answer
        self.cut = False  # ends without close_notify in the middle of the next answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=[self.listener.accept()[0]],
                                 daemon=True).start()

    def serve(self, accepted):
        with contextlib.suppress(OSError), accepted:
            stream = self.context.wrap_socket(accepted, server_side=True)
            self.resumed.append(stream.session_reused)
            self.alpn.append(stream.selected_alpn_protocol())
            received = b""
            while True:
                while b"\r\n\r\n" not in received:
                    part = stream.recv(65536)
                    if not part:
                        return
                    received += part
                head, _, received = received.partition(b"\r\n\r\n")
                self.requests.append(head)
                if self.cut:
                    stream.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf of it")
                    socket.socket(fileno=stream.detach()).close()
                    return
                body, more = head.split()[1], b"Connection: close\r\n" if self.once else b""
                stream.sendall(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b"
                               % (more, len(body), body))
                if self.once:
                    stream.unwrap()
                    return

    def close(self):
        self.listener.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def make_secure():
    made = []

    def make(pair, **attributes):
        made.append(SecureOrigin(pair, **attributes))
        return made[-1]
    yield make
    for origin in made:
        origin.close()


@pytest.fixture
def start(start_weir, tmp_path, authority):
    def begin(more=None, **variables):
        path = tmp_path / "weir.yaml"
        more = more or f"server_tls: {{ ca_files: {authority.certificate} }}\n"
        path.write_text(f"workers: 1\nlisten: [ {{ address: 127.0.0.1:0 }} ]\n{more}")
        return start_weir("-c", str(path), **variables)
    return begin


def ask(weir, url):
    """The whole answer to a GET in absolute form, on a connection of its own."""
    with socket.create_connection(weir.address, timeout=client.PATIENCE) as stream:
        stream.sendall(b"GET %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % url.encode())
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while part := stream.recv(65536):
                received += part
        return received


def test_an_https_target_goes_to_the_server_over_tls(start, authority, make_secure):
    origin = make_secure(authority.issue("good"))
    weir = start()
    assert ask(weir, f"https://localhost:{origin.port}/a?b").endswith(b"\r\n\r\n/a?b")
    assert ask(weir, f"https://127.0.0.1:{origin.port}/c").endswith(b"\r\n\r\n/c")
    assert origin.names == ["localhost", None]
    assert origin.alpn == ["http/1.1"] * 2
    assert origin.requests[0].startswith(b"GET /a?b HTTP/1.1\r\nHost: localhost:%d\r\n"
                                         % origin.port)


def test_connections_are_kept(start, authority, make_secure):
    origin = make_secure(authority.issue("kept"))
    weir = start()
    url = f"https://localhost:{origin.port}/"
    for _ in range(3):
        assert ask(weir, url).startswith(b"HTTP/1.1 200")
    assert origin.resumed == [False]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_is_resumed(start, authority, make_secure, version):
    origin = make_secure(authority.issue("resumed"), maximum_version=version)
    origin.once = True
    weir = start()
    url = f"https://localhost:{origin.port}/"
    assert ask(weir, url).startswith(b"HTTP/1.1 200")
    assert ask(weir, url).startswith(b"HTTP/1.1 200")
    assert origin.resumed == [False, True]


@pytest.mark.parametrize("kind, why", [
    ("expired", "certificate has expired"), ("name", "hostname mismatch"),
    ("unknown", "unable to get local issuer certificate"), ("self", "self-signed certificate")])
def test_a_certificate_that_proves_nothing(start, authority, make_secure, tmp_path, kind, why):
    pairs = {"expired": lambda: authority.issue("old", days=-1),
             "name": lambda: authority.issue("other", "DNS:other.example"),
             "unknown": lambda: Authority(tmp_path, "stranger").issue("one"),
             "self": lambda: Authority(tmp_path, "alone")}
    origin = make_secure(pairs[kind]())
    weir = start()
    answer = ask(weir, f"https://localhost:{origin.port}/")
    assert answer.startswith(b"HTTP/1.1 502 ") and b"error=tls_certificate_error" in answer
    said = f"the certificate of the server is not accepted: {why}; its certificate: subject "
    weir.wait(lambda: said in weir.said(), "the log", 5)
    assert origin.requests == []


def test_verify_is_only_off_when_it_is_said(start, authority, make_secure, tmp_path):
    origin = make_secure(Authority(tmp_path, "alone"))
    weir = start("server_tls: { verify: false }\n")
    assert ask(weir, f"https://localhost:{origin.port}/x").endswith(b"/x")
    weir = start("server_tls: { minimum_version: 1.2 }\n")
    assert b"tls_certificate_error" in ask(weir, f"https://localhost:{origin.port}/x")


def test_a_server_that_speaks_no_tls(start):
    def serve(listener):
        with listener.accept()[0] as accepted:
            accepted.recv(10000)
            accepted.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=[listener], daemon=True).start()
        weir = start()
        answer = ask(weir, f"https://127.0.0.1:{listener.getsockname()[1]}/")
    assert answer.startswith(b"HTTP/1.1 502 ") and b"error=tls_protocol_error" in answer
    weir.wait(lambda: "the fault is the server's: it does not speak TLS" in weir.said() or
              "the fault is the server's: it speaks plain HTTP" in weir.said(), "the log", 5)


def test_a_server_that_is_silent(start, authority):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        weir = start("timeouts: { handshake: 1s }\n")
        answer = ask(weir, f"https://127.0.0.1:{silent.getsockname()[1]}/")
    assert answer.startswith(b"HTTP/1.1 504 ") and b"error=connection_timeout" in answer


def test_an_answer_that_is_cut_does_not_look_whole(start, authority, make_secure):
    origin = make_secure(authority.issue("cut"))
    origin.cut = True
    weir = start()
    with socket.create_connection(weir.address, timeout=client.PATIENCE) as stream:
        stream.sendall(b"GET https://localhost:%d/ HTTP/1.1\r\nHost: x\r\n\r\n" % origin.port)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while part := stream.recv(65536):
                received += part
    assert not received.endswith(b"0\r\n\r\n")


def test_a_reverse_proxy_with_tls_on_both_sides(start_weir, tmp_path, authority, make_secure):
    origin, own = make_secure(authority.issue("app", "DNS:app.internal")), authority.issue("front")
    path = tmp_path / "weir.yaml"
    path.write_text(f"""workers: 1
listen: [ {{ address: 127.0.0.1:0, tls: {{ certificates: [ {own.yaml()} ] }} }} ]
upstream:
  app:
    servers: [ 127.0.0.1:{origin.port} ]
    tls: {{ ca_files: {authority.certificate}, server_name: app.internal }}
fixed_upstream: app
""")
    weir = start_weir("-c", str(path))
    done = subprocess.run(["curl", "-s", "--cacert", str(authority.certificate),
                           f"https://localhost:{weir.address[1]}/path"], capture_output=True,
                          timeout=20)
    assert done.stdout == b"/path"
    assert origin.names == ["app.internal"]


def test_a_wrong_file_has_its_place(start, tmp_path):
    import program
    path = tmp_path / "wrong.yaml"
    path.write_text("server_tls:\n  ca_files: [ /nowhere.pem ]\n")
    done = program.run("check", "-c", str(path))
    assert done.returncode == 78
    assert "wrong.yaml:2:15: server_tls.ca_files[0]: /nowhere.pem: " in done.stdout + done.stderr
