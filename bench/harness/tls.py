"""bench tls: processor time of requests over TLS, on kept connections and each on a new one"""
import json
import subprocess

from harness import certificate, options, report
from harness.lab import Lab
from harness.proxies import (HAPROXY, NGINX_PROXY, Origin, Proxy, Recipe, WEIR, nginx_command)

SECONDS = 4
KINDS = {"kept": "", "new": 'wrk.headers["Connection"] = "close"\n'}
SCRIPT = """
%s
function done(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format('{"requests": %%d, "errors": %%d}\\n', summary.requests,
        errors.connect + errors.write + errors.status + errors.timeout))
end
"""


def weir(lab, origin, port):
    pair = certificate.make(lab)
    return [WEIR, "-c", lab.write("tls.yaml", f"""workers: 1
listen: [ {{ address: 127.0.0.1:0, tls: {{ certificates: [ {{ certificate: {pair[0]}, key: {pair[1]} }} ] }} }} ]
upstream: {{ origin: {{ servers: [ 127.0.0.1:{origin.port} ] }} }}
fixed_upstream: origin
""")]


def nginx(lab, origin, port):
    pair = certificate.make(lab)
    server = NGINX_PROXY.format(port=f"{port} ssl", origin=origin.port, settings="")
    settings = f"ssl_certificate {pair[0]}; ssl_certificate_key {pair[1]}; ssl_protocols TLSv1.3;"
    return nginx_command(lab, "nginx", settings + server)


def haproxy(lab, origin, port):
    both = certificate.make(lab)[2]
    configuration = HAPROXY.format(port=f"{port} ssl crt {both}", origin=origin.port, settings="")
    return ["haproxy", "-db", "-f", lab.write("haproxy.cfg", configuration)]


RECIPES = {"weir": Recipe(weir, (WEIR, "--version")), "nginx": Recipe(nginx, ("nginx", "-v")),
           "haproxy": Recipe(haproxy, ("haproxy", "-v"))}


def add_arguments(parser):
    options.add_number(parser, "--rounds", 3, "rounds, in each of which every proxy has its turn")
    options.add_json(parser)


def measure(lab, proxy, kind):
    """Microseconds of the proxy's for each request."""
    script = lab.write("tls.lua", SCRIPT % KINDS[kind])
    before = proxy.cpu_seconds()
    load = lab.start(["wrk", "-t1", "-c32", f"-d{SECONDS}s", "-s", script,
                      f"https://127.0.0.1:{proxy.port}/body"], lab.load_processor,
                     stdout=subprocess.PIPE)
    said, _ = load.communicate()
    result = json.loads(said.splitlines()[-1])
    return {f"{kind}_us": (proxy.cpu_seconds() - before) * 1e6 / max(1, result["requests"]),
            f"{kind}_errors": result["errors"]}


def run(arguments):
    recipes = {name: recipe for name, recipe in RECIPES.items() if recipe.installed()}
    runs = []
    for number, name, recipe in options.turns(recipes, arguments.rounds):
        with Lab() as lab:
            proxy = Proxy(lab, recipe, Origin(lab, 128))
            runs.append({"round": number, "proxy": name, **measure(lab, proxy, "kept"),
                         **measure(lab, proxy, "new")})
    for kind in KINDS:
        report.summarize(f"{kind} connections", runs, [("us/request", f"{kind}_us", "{:.1f}")])
    report.write_json(arguments, recipes, runs=runs)
    return 1 if any(run[f"{kind}_errors"] for run in runs for kind in KINDS) else 0
