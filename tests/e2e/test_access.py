"""Access control: denied addresses, and no open proxy by accident."""
import program
from client import Client
from test_http1 import get


def test_denied_addresses(tmp_path, start_weir, make_origin):
    origin = make_origin()
    file = tmp_path / "weir.yaml"
    file.write_text("listen:\n  - address: 127.0.0.1:0\ndeny_addresses: [ loopback ]\n")
    weir = start_weir("-c", str(file))
    for request_text in (get(origin), b"GET http://localhost:%d/ HTTP/1.1\r\nHost: a\r\n\r\n"
                         % origin.port,
                         b"CONNECT %s HTTP/1.1\r\nHost: a\r\n\r\n" % origin.authority):
        with Client(weir.address) as client:
            response = client.ask(request_text)
            assert response.status == 403
            assert b"destination_ip_prohibited" in response.get(b"proxy-status")
    assert not origin.connections


def test_no_open_proxy_by_accident(tmp_path):
    done = program.run("-l", "0.0.0.0:0")
    assert done.returncode == 78 and "allow_clients" in done.stderr
    file = tmp_path / "weir.yaml"
    file.write_text("listen:\n  - address: 0.0.0.0:0\n")
    assert program.run("check", "-c", str(file)).returncode == 78
    file.write_text("listen:\n  - address: 0.0.0.0:0\n    open: true\n")
    assert program.run("check", "-c", str(file)).returncode == 0
    file.write_text("listen:\n  - address: 0.0.0.0:0\n    allow_clients: [ 10.0.0.0/8 ]\n")
    assert program.run("check", "-c", str(file)).returncode == 0
