"""A SOCKS5 client that says exactly what it is told, and a weir that such clients may use."""
import ipaddress
import pathlib
import struct

import program
from client import Client

GREETING = b"\5\1\0"
GREETED = b"\5\0"
PASSWORD_OFFER = b"\5\2\0\2"
REPLIES = {"succeeded": 0, "failure": 1, "not allowed": 2, "network unreachable": 3,
           "host unreachable": 4, "refused": 5, "expired": 6, "command unsupported": 7,
           "address unsupported": 8}


def plugins():
    """Where the plugins lie that were built with the program under test."""
    return pathlib.Path(program.path()).resolve().parent / "plugins"


def write_configuration(directory, protocols="h1, socks5", listener="", text=""):
    """The path of a configuration with one listener for such clients."""
    file = directory / "weir.yaml"
    file.write_text(f"plugin_directory: {plugins()}\nworkers: 1\n"
                    f"listen: [ {{ address: '127.0.0.1:0', protocols: [ {protocols} ]{listener} }} ]"
                    f"\n{text}")
    return str(file)


def request(authority, command=1):
    """The request for HOST:PORT: IPv4 and IPv6 addresses as such, else as a name."""
    host, _, port = authority.decode().rpartition(":")
    try:
        address = ipaddress.ip_address(host.strip("[]"))
        target = bytes([1 if address.version == 4 else 4]) + address.packed
    except ValueError:
        target = bytes([3, len(host)]) + host.encode()
    return bytes([5, command, 0]) + target + struct.pack(">H", int(port))


class Reply:
    """What came of a request; `status` in the words of HTTP, for tests that serve both."""

    def __init__(self, bytes_read):
        assert len(bytes_read) == 10, bytes_read
        assert bytes_read[0] == 5 and bytes_read[2:] == b"\0\1\0\0\0\0\0\0", bytes_read
        self.code = bytes_read[1]
        self.status = 200 if self.code == REPLIES["succeeded"] else 502


class Socks5Client(Client):
    """Client's connect() in another language."""

    def greet(self):
        self.send(GREETING)
        assert self.reader.take(2) == GREETED

    def reply(self):
        return Reply(self.reader.take(10))

    def connect(self, authority, early=b""):
        self.greet()
        self.send(request(authority) + early)
        return self.reply()
