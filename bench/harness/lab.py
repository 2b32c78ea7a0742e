"""Where a measurement happens: a scratch directory, two processors, processes that end with it."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
START_SECONDS = 20
STOP_SECONDS = 20


class Failure(Exception):
    """Something that the user is told in one line, without a traceback."""


class Process(subprocess.Popen):
    """A program on one processor, in a group of its own, its standard error in a file.

    Should the harness be killed outright, the kernel sends it SIGTERM."""

    def __init__(self, command, processor, log, **options):
        self.name = os.path.basename(command[0])
        self.log = log
        self.killed = False
        pinned = ["setpriv", "--pdeathsig", "TERM", "taskset", "-c", str(processor), *command]
        with open(log, "w") as file:
            options = {"stdin": subprocess.DEVNULL, "stdout": file, **options}
            super().__init__(pinned, stderr=file, start_new_session=True, text=True, **options)

    def words(self):
        with open(self.log, errors="replace") as file:
            return file.read().strip()

    def failure(self, what):
        words = self.words()[-500:]
        return Failure(f"{self.name} {what}" + (f": {words}" if words else ""))

    def wait_until(self, ready, what):
        """Polls ready() until it returns something true, which is returned."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if value := ready():
                return value
            if self.poll() is not None:
                raise self.failure(f"ended with code {self.returncode}")
            time.sleep(0.02)
        raise self.failure(f"did not {what} in {START_SECONDS} s")

    def finish(self, number=None):
        """Waits for it to end by itself, so that it can write what it knows; sends a signal first
        if one is given."""
        if number:
            self.send_signal(number)
        try:
            self.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise self.failure("does not end") from None
        self.kill()

    def kill(self):
        """The whole group, and only once: later its number may be another's."""
        if not self.killed:
            self.killed = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.wait()


class Lab:
    """A context: however it is left, its processes are killed and its directory is removed."""

    def __init__(self):
        processors = sorted(os.sched_getaffinity(0))
        if len(processors) < 2:
            raise Failure("two processors are needed: one for the proxy, one for all else")
        self.load_processor, self.proxy_processor = processors[:2]
        self.processes = []

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="weir-bench-")
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def start(self, command, processor, **options):
        if shutil.which(command[0]) is None:
            raise Failure(f"{command[0]} is not there")
        log = self.path(f"process-{len(self.processes)}.log")
        process = Process(command, processor, log, **options)
        self.processes.append(process)
        return process

    def tool(self, name):
        """The path of bench/NAME.c as a program: as built with weir, or, if that is missing or
        older than the source, compiled here."""
        source = os.path.join(ROOT, "bench", f"{name}.c")
        built = os.path.join(ROOT, "build", "release", "bench", name)
        if os.path.exists(built) and os.path.getmtime(built) >= os.path.getmtime(source):
            return built
        if not os.path.exists(self.path(name)):
            subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O2",
                            "-o", self.path(name), source], check=True)
        return self.path(name)


class ReservedPort:
    """A context: a port of 127.0.0.1 that the system gives to nobody else, for programs that can't
    pick one. It is bound and doesn't listen: a server that sets SO_REUSEADDR can listen on it."""

    def __enter__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        return self.socket.getsockname()[1]

    def __exit__(self, *_):
        self.socket.close()


def accepts(port):
    address = ("127.0.0.1", port)
    with contextlib.suppress(OSError), socket.create_connection(address, 0.5):
        return True
    return False


def end_on_signals():
    """SIGTERM and SIGHUP end the harness as Ctrl-C does, through its contexts."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
