"""A real browser, Debian's Chromium, through weir as a proxy of HTTP/1.1 and of HTTP/2 with TLS: images, a fetch stream, a WebSocket."""
import base64
import hashlib
import shutil
import subprocess
import time
import zlib
from urllib.parse import parse_qs, urlsplit

import pytest

from certificates import Authority
from message import chunked
from origin import ok

IMAGES = 12
PIECES = 5
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 1.3

PAGE = b"""<!doctype html><title>weir</title>
%s
<script>
async function run() {
  await Promise.all([...document.images].map(image => image.decode()));
  const pieces = [];
  const reader = (await fetch('/stream')).body.getReader();
  for (let piece; !(piece = await reader.read()).done;)
    pieces.push(new TextDecoder().decode(piece.value));
  const echo = await new Promise((resolve, reject) => {
    const socket = new WebSocket('ws://' + location.host + '/socket');
    socket.onopen = () => socket.send('ping');
    socket.onmessage = event => resolve(event.data);
    socket.onerror = () => reject('socket');
  });
  return 'images=' + document.images.length + '&pieces=' + pieces.length +
         '&text=' + pieces.join('') + '&echo=' + echo;
}
run().then(text => fetch('/report?' + text), error => fetch('/report?error=' + error));
</script>
""" % b"\n".join(b'<img src="/image/%d.png">' % number for number in range(IMAGES))


def png():
    """One white pixel."""
    def chunk(kind, data):
        body = kind + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]))
            + chunk(b"IDAT", zlib.compress(b"\x00\xff")) + chunk(b"IEND", b""))


def play_stream(connection):
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n")
    for number in range(PIECES):
        connection.send(chunked(b"%d" % number, last=False))
        time.sleep(0.15)
    connection.send(b"0\r\n\r\n")


def play_socket(connection, request):
    """Takes the upgrade and sends the first text frame back in capitals."""
    accept = base64.b64encode(hashlib.sha1(request.get(b"sec-websocket-key") + GUID).digest())
    connection.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                    b"Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n" % accept)
    head = connection.reader.take(2)
    mask = connection.reader.take(4)
    data = connection.reader.take(head[1] & 0x7f)
    text = bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
    connection.send(b"\x81" + bytes([len(text)]) + text.upper())


def serve(reports):
    def handler(connection):
        while request := connection.request():
            path = urlsplit(request.target.decode()).path
            if path == "/":
                connection.send(ok(PAGE, b"Content-Type: text/html\r\n"))
            elif path.startswith("/image/"):
                connection.send(ok(png(), b"Content-Type: image/png\r\n"))
            elif path == "/stream":
                play_stream(connection)
            elif path == "/socket":
                return play_socket(connection, request)
            else:
                if path == "/report":
                    reports.append(parse_qs(urlsplit(request.target.decode()).query))
                connection.send(ok())
    return handler


def browse(proxy, url, folder, *more):
    return subprocess.Popen(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-dev-shm-usage", f"--user-data-dir={folder}",
         f"--proxy-server={proxy}", "--proxy-bypass-list=<-loopback>",
         "--remote-debugging-port=0", *more, url],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.skipif(not shutil.which("chromium"), reason="there is no chromium here")
@pytest.mark.parametrize("scheme, version", [("http", "1.1"), ("https", "2")])
def test_page_with_images_stream_and_socket(tmp_path, start_weir, make_origin, scheme, version):
    """The proxy is one of HTTP/1.1, or of HTTP/2 with TLS; then the socket's tunnel is a stream."""
    reports = []
    certificate = Authority(tmp_path).issue("localhost").yaml()
    tls = f"    tls: {{ certificates: [ {certificate} ] }}\n" if scheme == "https" else ""
    origin = make_origin(serve(reports))
    log = tmp_path / "access.log"
    file = tmp_path / "weir.yaml"
    file.write_text(f"listen:\n  - address: 127.0.0.1:0\n{tls}log:\n  access:\n"
                    f"    format: '{{version}} {{method}} {{target}} {{status}}'\n    file: {log}\n")
    weir = start_weir("-c", str(file))
    browser = browse(f"{scheme}://{weir.authority}", origin.url(), tmp_path / "profile",
                     "--ignore-certificate-errors")
    try:
        end = time.monotonic() + 60
        while not reports and time.monotonic() < end:
            time.sleep(0.1)
    finally:
        browser.kill()
        browser.wait()
    assert reports == [{"images": [str(IMAGES)], "pieces": [str(PIECES)], "text": ["01234"],
                        "echo": ["PING"]}]
    weir.stop()
    lines = log.read_text()
    expected = ["/", "/stream"] + [f"/image/{number}.png" for number in range(IMAGES)]
    for path in expected:
        assert f"{version} GET {origin.url(path)} 200" in lines, path
    assert f"{version} CONNECT {origin.authority.decode()} 200" in lines, "the browser tunnels its socket"
