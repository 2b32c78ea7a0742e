"""Servers that speak TLS: the real nginx and HAProxy, and one on Debian's hyper-h2 that counts."""
import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import time

NGINX = """
daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log;
worker_processes 1;
events {{ worker_connections 512; }}
http {{
    access_log off; client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl{http2};
        ssl_certificate {pair.certificate}; ssl_certificate_key {pair.key};
        location / {{ return 200 "$server_protocol $connection $request_uri"; }}
    }}
}}
"""
HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend secure
    bind 127.0.0.1:{port} ssl crt {directory}/both.pem alpn {alpn}
    http-request return status 200 content-type text/plain lf-string "HTTP/%[fc_http_major] %cp %HU"
"""


def program(name):
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Real:
    """A program that answers each request with its protocol, its connection and its target."""

    def __init__(self, directory, pair):
        self.directory, self.pair = directory, pair

    def start(self, make_command):
        for attempt in range(5):  # another process may have taken the port since
            self.port = free_port()
            self.process = subprocess.Popen(make_command(), stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self.answers():
                return self
            self.stop()
        raise AssertionError(f"does not start: {self.process.args}")

    def answers(self):
        end = time.monotonic() + 10
        while self.process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            time.sleep(0.02)
        return False

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def nginx(directory, pair, h2):
    origin = Real(directory, pair)

    def command():
        path = directory / "nginx.conf"
        path.write_text(NGINX.format(directory=directory, port=origin.port, pair=pair,
                                     http2=" http2" if h2 else ""))
        return [program("nginx"), "-c", str(path), "-p", str(directory)]
    return origin.start(command)


def haproxy(directory, pair, h2):
    origin = Real(directory, pair)
    (directory / "both.pem").write_text(pair.certificate.read_text() + pair.key.read_text())

    def command():
        path = directory / "haproxy.cfg"
        path.write_text(HAPROXY.format(directory=directory, port=origin.port,
                                       alpn="h2,http/1.1" if h2 else "http/1.1"))
        return [program("haproxy"), "-db", "-f", str(path)]
    return origin.start(command)


class CountingOrigin:
    """Speaks HTTP/2 over TLS. It answers when `together` requests have come on a connection, with
    what status(connection, path) says and the number of the connection."""

    def __init__(self, pair, together=1, status=lambda connection, path: 200):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pair.certificate, pair.key)
        self.context.set_alpn_protocols(["h2"])
        self.together, self.status = together, status
        self.connections = self.ended = 0  # ended: with close_notify
        self.paths = []  # with the number of the connection
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                accepted = self.listener.accept()[0]
                self.connections += 1
                threading.Thread(target=self.serve, args=[accepted, self.connections],
                                 daemon=True).start()

    def serve(self, accepted, number):
        import h2.config
        import h2.connection
        import h2.events
        with contextlib.suppress(OSError), accepted:
            stream = self.context.wrap_socket(accepted, server_side=True,
                                              suppress_ragged_eofs=False)
            session = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
            session.initiate_connection()
            stream.sendall(session.data_to_send())
            waiting = []
            while part := stream.recv(65536):
                for event in session.receive_data(part):
                    if isinstance(event, h2.events.RequestReceived):
                        waiting.append((event.stream_id, dict(event.headers)[b":path"]))
                if len(waiting) >= self.together:
                    for identity, path in waiting:
                        self.answer(session, number, identity, path)
                    waiting.clear()
                stream.sendall(session.data_to_send())
            self.ended += 1

    def answer(self, session, number, identity, path):
        self.paths.append((number, path.decode()))
        status = self.status(number, path.decode())
        session.send_headers(identity, [(":status", str(status))])
        session.send_data(identity, b"HTTP/2 %d %b" % (number, path), end_stream=True)

    def stop(self):
        self.listener.close()
