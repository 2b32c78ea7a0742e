"""The weir whose memory is measured, and what the kernel says about that memory."""
import contextlib
import os
import re
import time

from harness import certificate
from harness.lab import Failure

CLOSE_SECONDS = 10  # until weir has noticed that everybody left
REST_SECONDS = 3    # after that, for weir to give memory back


class Subject:
    """A weir with one worker that has its processor to itself."""

    def __init__(self, lab, program, tls=False):
        pair, tls_text = certificate.make(lab) if tls else None, ""
        if tls:
            tls_text = f", tls: {{ certificates: [ {{ certificate: {pair[0]}, key: {pair[1]} }} ] }}"
        # More clients than the limit that follows from a modest `ulimit -n`.
        configuration = lab.write("scale.yaml", "limits: { connections_max: 10000 }\nworkers: 1\n"
                                  f"listen: [ {{ address: 127.0.0.1:0{tls_text} }} ]\n")
        self.process = lab.start([program, "-c", configuration], lab.proxy_processor)
        self.port = int(self.process.wait_until(self.announced, "listen").group(1))
        self.listening = self.count_sockets()

    def announced(self):
        return re.search(r"listening on 127\.0\.0\.1:(\d+)", self.process.words())

    def read(self, name):
        if self.process.poll() is not None:
            raise self.process.failure(f"ended with code {self.process.returncode}")
        with open(f"/proc/{self.process.pid}/{name}") as file:
            return file.read()

    def number(self, name, key):
        found = re.search(rf"^{key}:\s+(\d+) kB$", self.read(name), re.MULTILINE)
        return int(found.group(1)) * 1024

    def resident(self):
        """Bytes. From the page tables; the counter in `status` may be off by many pages."""
        return self.number("smaps_rollup", "Rss")

    def peak(self):
        """Bytes: the most that was resident since forget_peak()."""
        return self.number("status", "VmHWM")

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5\n")

    def count_sockets(self):
        directory, count = f"/proc/{self.process.pid}/fd", 0
        for name in os.listdir(directory):
            with contextlib.suppress(FileNotFoundError):
                count += os.readlink(os.path.join(directory, name)).startswith("socket:")
        return count

    def connections(self):
        return self.count_sockets() - self.listening

    def expect_connections(self, count):
        """What is measured must be there."""
        if self.connections() < count:
            raise Failure(f"weir has {self.connections()} connections instead of {count}")

    def rest(self):
        """Resident bytes a little after the last connection has gone."""
        deadline = time.monotonic() + CLOSE_SECONDS
        while connections := self.connections():
            if time.monotonic() > deadline:
                raise Failure(f"weir still has {connections} connections {CLOSE_SECONDS} s after "
                              "everybody left")
            time.sleep(0.05)
        time.sleep(REST_SECONDS)
        return self.resident()

    def stop(self):
        self.process.kill()
