"""The two loads: exactly so many requests (bench/load.c), and as many as go in a time (wrk)."""
import contextlib
import json
import subprocess

from harness.lab import Failure

WRK_SCRIPT = """
wrk.path = "%(target)s"
wrk.headers["Host"] = "127.0.0.1:%(origin)d"
function done(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format(
        '{"requests": %%d, "seconds": %%.6f, "p50_us": %%d, "p99_us": %%d, "errors": %%d}\\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"""


class ExactLoad:
    """Keep-alive connections that stay open from one batch to the next, until close()."""

    def __init__(self, lab, proxy, connections, path="/body"):
        self.proxy = proxy
        self.process = lab.start(
            [lab.tool("load"), "-c", str(connections), "-l", str(proxy.origin.body_length),
             f"127.0.0.1:{proxy.port}", proxy.target(path)],
            lab.load_processor, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, requests):
        """Returns when exactly so many were answered, each with 200 and the whole body."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{requests}\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise Failure(f"{self.process.words()}; {self.proxy.state()}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.finish()


class ExactLoadH2:
    """h2load: each batch over connections of its own, which begin with HTTP/2, 8 streams each."""

    def __init__(self, lab, proxy, connections, path="/body"):
        self.lab, self.proxy, self.connections, self.path = lab, proxy, connections, path

    def run(self, requests):
        process = self.lab.start(
            ["h2load", "-t1", f"-c{self.connections}", "-m8", f"-n{requests}",
             f"http://127.0.0.1:{self.proxy.port}{self.path}"],
            self.lab.load_processor, stdout=subprocess.PIPE)
        said, _ = process.communicate()
        if f"{requests} succeeded, 0 failed" not in said:
            raise Failure(f"h2load: {said[-300:]}; {self.proxy.state()}")

    def close(self):
        pass


class TimedLoad:
    """wrk, started."""

    def __init__(self, lab, proxy, connections, seconds):
        script = lab.write("wrk.lua", WRK_SCRIPT % {"target": proxy.target("/body"),
                                                    "origin": proxy.origin.port})
        self.process = lab.start(
            ["wrk", "--latency", "--threads", "1", "--connections", str(connections),
             "--duration", f"{seconds}s", "--script", script, f"http://127.0.0.1:{proxy.port}/"],
            lab.load_processor, stdout=subprocess.PIPE)

    def result(self):
        output, _ = self.process.communicate()
        if self.process.returncode != 0:
            raise self.process.failure(f"ended with code {self.process.returncode}")
        return json.loads(output.splitlines()[-1])
