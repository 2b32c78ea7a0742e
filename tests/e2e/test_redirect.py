"""plugins/redirect: each kind of rule, which of two comes first, mistakes, reload, and counts."""
import threading

import pytest

import socks5
from client import Client
from program import run
from test_reload import Running


@pytest.fixture
def start(start_weir, tmp_path):
    """A weir with these rules: lines of YAML flow mappings, or of a CSV file."""
    def start(*rules, csv=None, settings=""):
        if csv:
            (tmp_path / "moved.csv").write_text(csv)
        return Running(start_weir, tmp_path, text_of(*rules, csv=csv, settings=settings))
    return start


def text_of(*rules, csv=None, settings=""):
    lines = "".join(f"        - {rule}\n" for rule in rules)
    return (f"plugin_directory: {socks5.plugins()}\nfilters:\n  - use: redirect\n    with:\n"
            + ("      file: moved.csv\n" if csv else "")
            + (f"      {settings}\n" if settings else "")
            + (f"      rules:\n{lines}" if lines else ""))


def ask(address, path, host=b"a.example"):
    with Client(address) as client:
        return client.ask(b"GET http://%s%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, path, host))


def leads(running, path, location, status=301, host=b"a.example"):
    answer = ask(running.weir.address, path, host)
    assert answer.status == status, (path, answer)
    assert answer.get(b"Location") == location, path


def passes(running, path, host=b"127.0.0.1:1"):
    """No rule answers: nobody listens there."""
    assert ask(running.weir.address, path, host).status == 502


# --- kinds of rules

def test_exact(start):
    running = start("{ path: /old.html, to: /new.html }", "{ path: /caf\u00e9, to: /coffee }")
    leads(running, b"/old.html", b"/new.html")
    leads(running, b"/o%6cd.html", b"/new.html")
    leads(running, b"/caf%c3%a9", b"/coffee")
    for path in (b"/old.html/", b"/old.htm", b"/OLD.html", b"//old.html", b"/x/../old.html"):
        passes(running, path)


def test_prefix(start):
    running = start("{ kind: prefix, path: /docs, to: 'https://docs.example/v2', status: 308 }",
                    "{ kind: prefix, path: /below/, to: /b/ }")
    leads(running, b"/docs", b"https://docs.example/v2", 308)
    leads(running, b"/docs/a/b%2fc", b"https://docs.example/v2/a/b%2fc", 308)
    leads(running, b"/below/x", b"/b/x")
    passes(running, b"/docsets")
    passes(running, b"/below")


def test_regex(start):
    running = start('{ kind: regex, path: "/blog/(\\\\d{4})/(?<name>[^/]+)", '
                    'to: "/articles/${name}-$1$$" }',
                    '{ kind: regex, path: "/end$", to: "/x$0" }')
    leads(running, b"/blog/2024/cats", b"/articles/cats-2024$")
    leads(running, b"/end", b"/x/end")
    passes(running, b"/blog/24/cats")
    passes(running, b"/end/")


def test_a_status_that_leads_nowhere(start):
    running = start("{ path: /secret, status: 410 }", "{ path: /odd, status: 418 }")
    for path, status in ((b"/secret", 410), (b"/odd", 418)):
        answer = ask(running.weir.address, path)
        assert answer.status == status and answer.get(b"Location") is None


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_each_redirect(start, status):
    leads(start(f"{{ path: /a, to: /b, status: {status} }}"), b"/a", b"/b", status)


def test_queries(start):
    running = start("{ path: /keep, to: /k }", "{ path: /keep2, to: '/k?own=1' }",
                    "{ path: /drop, to: /d, query: drop }",
                    "{ path: /replace, to: '/r?own=1', query: replace }",
                    "{ path: /when, when: 'id=7&lang&!preview', to: /w, query: drop }")
    leads(running, b"/keep?a=1&b", b"/k?a=1&b")
    leads(running, b"/keep2?a=1", b"/k?own=1&a=1")
    leads(running, b"/drop?a=1", b"/d")
    leads(running, b"/replace?a=1", b"/r?own=1")
    leads(running, b"/when?lang=de&id=7", b"/w")
    for query in (b"id=7", b"id=8&lang", b"id=7&lang&preview=no"):
        passes(running, b"/when?" + query)


def test_trailing_slash(start):
    running = start("{ path: /a, to: /1 }", "{ path: /b/, to: /2 }", "{ path: /c, to: /3 }",
                    "{ path: /c/, to: /4 }", settings="trailing_slash: true")
    for path, location in ((b"/a/", b"/1"), (b"/b", b"/2"), (b"/c", b"/3"), (b"/c/", b"/4")):
        leads(running, path, location)


def test_no_request_chooses_the_host(start):
    running = start('{ kind: regex, path: "/go/(.*)", to: "/$1" }',
                    '{ kind: regex, path: "/to/(.*)", to: "https://$1.example/" }')
    leads(running, b"/go//evil.example/x", b"/evil.example/x")
    leads(running, b"/to/a", b"https://a.example/")
    leads(running, b"/go/a%0d%0aSet-Cookie:b", b"/a%0d%0aSet-Cookie:b")
    passes(running, b"/to/evil.test%2f")


def test_tunnels_pass(start):
    running = start("{ kind: regex, path: '.*', to: /x }")
    with Client(running.weir.address) as client:
        assert client.ask(b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: a\r\n\r\n").status == 502


# --- which of two comes first, whatever their order

PAIRS = {
    "host before wild host": ("{ path: /a, to: /1, host: a.b.example }",
                              "{ path: /a, to: /2, host: '*.b.example' }"),
    "host before any host": ("{ kind: regex, path: /, to: /1, host: a.b.example }",
                             "{ path: /a, to: /2 }"),
    "longer wild host before shorter": ("{ path: /a, to: /1, host: '*.b.example' }",
                                        "{ path: /a, to: /2, host: '*.example' }"),
    "wild host before any host": ("{ kind: regex, path: /, to: /1, host: '*.example' }",
                                  "{ path: /a, to: /2 }"),
    "exact before prefix": ("{ path: /a, to: /1 }", "{ kind: prefix, path: /a, to: /2 }"),
    "exact before regex": ("{ path: /a, to: /1 }", "{ kind: regex, path: /a, to: /2 }"),
    "prefix before regex": ("{ kind: prefix, path: /a, to: /1 }",
                            "{ kind: regex, path: '/a$', to: /2 }"),
    "longer prefix before shorter": ("{ kind: prefix, path: /a, to: /1 }",
                                     "{ kind: prefix, path: /, to: /2 }"),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("turned", [False, True])
def test_which_rule_answers(start, pair, turned):
    first, second = PAIRS[pair]
    running = start(*((second, first) if turned else (first, second)))
    answer = ask(running.weir.address, b"/a", b"a.b.example")
    assert answer.get(b"Location") == b"/1", pair


def test_what_is_written_first(start):
    """Of regexes, of those with conditions, and rules before those of the file."""
    running = start("{ kind: regex, path: /r, to: /1 }", "{ kind: regex, path: '/r+', to: /2 }",
                    "{ path: /w, when: a, to: /1, query: drop }",
                    "{ path: /w, when: b, to: /2, query: drop }", "{ path: /w, to: /3 }",
                    "{ kind: regex, path: '/f', to: /1 }",
                    csv="kind,path,to\nregex,/f.*,/2\nexact,/g,/3\n")
    leads(running, b"/r", b"/1")
    leads(running, b"/rr", b"/1")
    leads(running, b"/w?a&b", b"/1")
    leads(running, b"/w?b", b"/2")
    leads(running, b"/w", b"/3")
    leads(running, b"/f", b"/1")
    leads(running, b"/g", b"/3")


# --- mistakes, reload, counts

@pytest.mark.parametrize("line,says", [
    ("exact,a,/b", "begins with a slash"), ("glob,/a,/b", "one of exact"),
    ("regex,/(,/b", "missing closing parenthesis"), ("exact,/x,/b", "never"),
    ("exact,/a,", "there is no target")])
def test_a_wrong_rule_names_its_line(tmp_path, line, says):
    file = tmp_path / "weir.yaml"
    file.write_text("listen: [ { address: 127.0.0.1:0 } ]\n" + text_of(csv=True))
    (tmp_path / "moved.csv").write_text(f"kind,path,to\n# moved\nexact,/x,/y\n{line}\n")
    ended = run("check", "-c", str(file))
    assert ended.returncode == 78 and "moved.csv:4:" in ended.stderr, ended.stderr
    assert says in ended.stderr, ended.stderr
    file.write_text("listen: [ { address: 127.0.0.1:0 } ]\n" +
                    text_of("{ path: /x, to: /y }", "{ path: x, to: /y }"))
    ended = run("check", "-c", str(file))
    assert ended.returncode == 78 and f"{file}:8:" in ended.stderr, ended.stderr


def test_reload_without_a_gap(start, tmp_path):
    """Every request is answered by one of the two sets; behind the reload only by the new one. What
    is wrong changes nothing."""
    csv = "path,to\n/a,/{}\n"
    running = start(csv=csv.format("old"))
    stop, seen = threading.Event(), []

    def load():
        with Client(running.weir.address) as client:
            while not stop.is_set():
                answer = client.ask(b"GET http://a.example/a HTTP/1.1\r\nHost: a.example\r\n\r\n")
                seen.append((answer.status, answer.get(b"Location")))
    clients = [threading.Thread(target=load) for _ in range(4)]
    for client in clients:
        client.start()
    for round_number in range(20):
        (tmp_path / "moved.csv").write_text(csv.format("new" if round_number % 2 == 0 else "old"))
        assert running.admin.reload().status == 200
    (tmp_path / "moved.csv").write_text("path,to\na,/b\n")
    answer = running.admin.reload()
    assert answer.status == 422 and b"moved.csv:2:" in answer.body
    leads(running, b"/a", b"/old")
    stop.set()
    for client in clients:
        client.join()
    assert set(seen) == {(301, b"/old"), (301, b"/new")}


def test_counts(start, tmp_path):
    running = start("{ path: /a, to: /1 }", "{ path: /b, status: 410 }",
                    "{ kind: regex, path: '/(a+)+$', to: /x }", csv="path,to\n/c,/3\n")
    for path in (b"/a", b"/a", b"/b", b"/c", b"/" + b"a" * 40 + b"b"):
        ask(running.weir.address, path, b"127.0.0.1:1")
    text = running.admin.get("/metrics").body.decode()
    base = running.file.read_text().split("rules:")[0].count("\n") + 2
    for sample in ('answers_total{status="301"} 3', 'answers_total{status="410"} 1',
                   f'rule_answers_total{{rule="rules:{base}"}} 2',
                   'rule_answers_total{rule="moved.csv:2"} 1',
                   "over_limit_total 1"):
        assert f"weir_plugin_redirect_{sample}\n" in text, (sample, text)
    assert running.admin.reload().status == 200
    ask(running.weir.address, b"/a")
    assert 'rule="moved.csv:2"} 1\n' in running.admin.get("/metrics").body.decode()
