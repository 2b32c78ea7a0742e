"""The origin, and the proxies that are put between it and the load."""
import os
import re
import shlex
import shutil
import subprocess

from harness import readings
from harness.lab import Failure, ROOT, ReservedPort, accepts

WEIR = os.path.join(ROOT, "build", "release", "weir")
LARGE_BYTES = 16 << 20
INLINE_BODY_MAX = 4000  # nginx takes at most 4096 bytes as one word of its configuration

NGINX = """
{user}
worker_processes 1;
daemon off;
pid {directory}/{name}.pid;
error_log stderr error;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    keepalive_timeout 600;
    keepalive_requests 100000000;
    {temporary}
    {servers}
}}
"""

ORIGIN = """
    server {{
        listen 127.0.0.1:{port};
        tcp_nodelay on;
        default_type text/plain;
        location = /body {{ sendfile on; {body} }}
        location = /chunked {{
            alias {directory}/body;
            output_buffers 4 32k;
            add_after_body /nothing;
            addition_types *;
        }}
        location = /nothing {{ alias {directory}/nothing; }}
        location = /large {{ alias {directory}/large; }}
    }}
"""

NGINX_PROXY = """
    upstream origin {{
        server 127.0.0.1:{origin};
        keepalive 512;
        keepalive_requests 100000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_max_temp_file_size 0;
            {settings}
        }}
    }}
"""

HAPROXY = """
global
    nbthread 1
    maxconn 2000
    {settings}
defaults
    mode http
    timeout connect 5s
    timeout client 600s
    timeout server 600s
    http-reuse always
frontend clients
    bind 127.0.0.1:{port}
    default_backend origin
backend origin
    server origin 127.0.0.1:{origin}
"""


def nginx_command(lab, name, servers):
    temporary = " ".join(f"{kind}_temp_path {lab.directory}/{name}-{kind};"
                         for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;" if os.geteuid() == 0 else ""  # its workers use the lab's directory
    configuration = NGINX.format(directory=lab.directory, name=name, user=user,
                                 temporary=temporary, servers=servers)
    return ["nginx", "-p", lab.directory, "-e", "stderr",
            "-c", lab.write(f"{name}.conf", configuration)]


class Origin:
    """nginx beside the load. /body answers with a Content-Length, /chunked without; /large is long.

    Short bodies come from memory, long ones from a file. For /chunked an empty file is appended,
    which makes nginx forget the length; each piece that it reads becomes a chunk."""

    def __init__(self, lab, body_length):
        self.body_length = body_length
        with open(lab.path("body"), "w") as file:
            file.truncate(body_length)
        lab.write("nothing", "")
        with open(lab.path("large"), "w") as file:
            file.truncate(LARGE_BYTES)
        if body_length <= INLINE_BODY_MAX:
            body = f'return 200 "{"x" * body_length}";'
        else:
            body = f"alias {lab.directory}/body;"
        with ReservedPort() as self.port:
            server = ORIGIN.format(port=self.port, directory=lab.directory, body=body)
            process = lab.start(nginx_command(lab, "origin", server), lab.load_processor)
            process.wait_until(lambda: accepts(self.port), "listen")


# Each of these returns the command of a proxy that listens on `port`, or picks a port and says so,
# and goes to the origin: because it is told to, or (forward) because the request says so. The large
# ones have buffers for long bodies, at the price of memory.

def floor(lab, origin, port):
    return [lab.tool("floor"), "0", str(origin.port)]


def haproxy(lab, origin, port, settings=""):
    configuration = HAPROXY.format(port=port, origin=origin.port, settings=settings)
    return ["haproxy", "-db", "-f", lab.write("haproxy.cfg", configuration)]


def haproxy_large(lab, origin, port):
    return haproxy(lab, origin, port, "tune.bufsize 65536")


def nginx(lab, origin, port, settings=""):
    server = NGINX_PROXY.format(port=port, origin=origin.port, settings=settings)
    return nginx_command(lab, "nginx", server)


def nginx_large(lab, origin, port):
    return nginx(lab, origin, port, "proxy_buffer_size 64k; proxy_buffers 8 64k; "
                                    "proxy_busy_buffers_size 128k;")


def weir(lab, origin, port):
    return [WEIR, "-l", "127.0.0.1:0", "-w", "1"]


def weir_reverse(lab, origin, port):
    return [*weir(lab, origin, port), "-u", f"127.0.0.1:{origin.port}"]


class Recipe:
    """How to start a proxy and what to say of it."""

    def __init__(self, command, version=(), description="", forward=False):
        self.command = command
        self.version = version  # a command that prints it; no command: always there
        self.description = description
        self.forward = forward  # wants absolute targets

    def installed(self):
        return not self.version or shutil.which(self.version[0]) is not None

    def describe(self):
        if not self.version:
            return self.description
        answer = subprocess.run(self.version, capture_output=True, text=True, timeout=10,
                                check=False)
        return next(iter((answer.stdout + answer.stderr).splitlines()), "")


RECIPES = {
    "floor": Recipe(floor, description="bench/floor.c"),
    "haproxy": Recipe(haproxy, ("haproxy", "-v")),
    "haproxy-large": Recipe(haproxy_large, ("haproxy", "-v")),
    "nginx": Recipe(nginx, ("nginx", "-v")),
    "nginx-large": Recipe(nginx_large, ("nginx", "-v")),
    "weir": Recipe(weir, (WEIR, "--version"), forward=True),
    "weir-reverse": Recipe(weir_reverse, (WEIR, "--version")),
}


def recipe_from_option(text):
    """A pair of name and recipe from NAME=COMMAND."""
    name, separator, command = text.partition("=")
    words = shlex.split(command)
    if not separator or not re.fullmatch(r"[\w.-]+", name) or not words:
        raise ValueError(text)

    def filled(lab, origin, port):
        return [word.replace("{port}", str(port)).replace("{origin}", str(origin.port))
                for word in words]
    return name, Recipe(filled, description=command, forward=True)


def find_recipe(name, added):
    recipes = {**RECIPES, **dict(added)}
    if name not in recipes:
        raise Failure(f"no proxy is called {name}; there are {', '.join(recipes)}")
    return recipes[name]


class Proxy:
    """A running proxy. With `under`, the command of a tool that it runs under."""

    def __init__(self, lab, recipe, origin, under=()):
        self.forward = recipe.forward
        self.origin = origin
        with ReservedPort() as reserved:
            command = recipe.command(lab, origin, reserved)
            self.process = lab.start([*under, *command], lab.proxy_processor)
            self.port = self.process.wait_until(
                lambda: self.announced_port() or (accepts(reserved) and reserved), "listen")

    def announced_port(self):
        match = re.search(r"listening on 127\.0\.0\.1:(\d+)", self.process.words())
        return int(match.group(1)) if match else None

    def target(self, path):
        return f"http://127.0.0.1:{self.origin.port}{path}" if self.forward else path

    def state(self):
        """For a failure's message: whether it still runs, and the last that it said."""
        code = self.process.poll()
        running = "the proxy runs" if code is None else f"the proxy ended with code {code}"
        return f"{running}, its last words: {self.process.words()[-300:] or 'none'}"

    def cpu_seconds(self):
        return readings.cpu_seconds(self.process.pid)

    def resident_mib(self):
        return readings.resident_mib(self.process.pid)

    def kill(self):
        self.process.kill()
