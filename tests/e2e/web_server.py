"""A real nginx on a port that the system picks, in a directory of its own."""
import shutil
import socket
import subprocess
import time

CONFIGURATION = """
daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log;
worker_processes 1;
events {{ worker_connections 512; }}
http {{
    access_log {directory}/access.log; default_type application/octet-stream;
    client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi; keepalive_requests 1000000; client_max_body_size 0;
    log_format target '$request_uri';
    server {{
        listen 127.0.0.1:{port} {listen}; root {directory}/www;
        location /target/ {{ return 200 $request_uri; }}
        location /method {{ return 200 $request_method; }}
        location /connection {{ return 200 $connection:$connection_requests; }}
        location /via {{ return 200 $http_via; }}
        location /moved {{ return 301 /file; }}
        location /nothing {{ return 204; }}
        location /upload/ {{ dav_methods PUT DELETE; create_full_put_path on; }}
    }}
}}
"""


def binary():
    """nginx is in /usr/sbin, which is not on every user's path."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


class WebServer:
    def __init__(self, directory, listen=""):
        """listen: parameters, such as http2."""
        self.directory, self.listen = directory, listen
        (directory / "www").mkdir()
        for attempt in range(5):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            if self.start():
                return
        raise AssertionError(f"nginx does not start: {self.directory}/error.log")

    def start(self):
        """Another process may have taken the port since; then the caller tries another."""
        text = CONFIGURATION.format(directory=self.directory, port=self.port, listen=self.listen)
        configuration = self.directory / "nginx.conf"
        configuration.write_text(text)
        self.process = subprocess.Popen(
            [binary(), "-c", str(configuration), "-p", str(self.directory)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while self.process.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                time.sleep(0.02)
        self.stop()
        return False

    @property
    def authority(self):
        return f"127.0.0.1:{self.port}"

    def url(self, path="/"):
        return f"http://{self.authority}{path}"

    def file(self, name, content):
        (self.directory / "www" / name).write_bytes(content)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
