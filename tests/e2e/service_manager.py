"""What a service manager does for a service: passes sockets to it and hears how it is."""
import os
import select
import socket

PASSED_FIRST, ASIDE = 3, 200


def passing(sockets, names="", process="$$"):
    """The words before a command so that it gets these sockets as LISTEN_FDS; the sockets must be
    inheritable: Popen's pass_fds."""
    moves = " ".join(f"{ASIDE + number}<&{passed.fileno()}"
                     for number, passed in enumerate(sockets))
    moves += " " + " ".join(f"{PASSED_FIRST + number}<&{ASIDE + number}"
                            for number in range(len(sockets)))
    script = (f"exec {moves}; LISTEN_PID={process} LISTEN_FDS={len(sockets)} "
              f"LISTEN_FDNAMES='{names}' exec \"$@\"")
    return ["bash", "-c", script, "weir"]


class Notified:
    """The socket that NOTIFY_SOCKET names, and what has come to it."""

    def __init__(self, directory=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.name = f"{directory}/notify" if directory else f"@weir-test-{os.getpid()}"
        self.socket.bind(self.name.replace("@", "\0", 1) if self.name[0] == "@" else self.name)
        self.messages = []

    def next(self, seconds=8):
        """The next message as a dictionary."""
        readable, _, _ = select.select([self.socket], [], [], seconds)
        assert readable, f"no message within {seconds} s after {self.messages}"
        lines = self.socket.recv(4096).decode().split("\n")
        message = dict(line.split("=", 1) for line in lines)
        assert len(message) == len(lines)
        self.messages.append(message)
        return message

    def quiet(self):
        return not select.select([self.socket], [], [], 0.1)[0]

    def close(self):
        self.socket.close()
