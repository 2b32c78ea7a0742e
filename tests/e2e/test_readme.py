"""The README's commands do what it says, with a local server for example.com and picked ports."""
import re
import shlex
import subprocess

from program import ROOT

README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def commands(first_word):
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith(first_word)]


def test_curl_lines(weir, make_origin):
    origin = make_origin()
    lines = commands("curl")
    assert len(lines) == 3
    for line in lines:
        line = [word.replace("127.0.0.1:3128", "%s:%d" % weir.address)
                .replace("example.com", origin.authority.decode()) for word in line]
        done = subprocess.run([line[0], "-sS", "--fail", "-m", "10", *line[1:]], cwd=ROOT,
                              capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, (line, done.stderr)
    assert len(origin.requests) == 3
    assert origin.requests[2].body == (ROOT / "README.md").read_bytes()


def test_configuration(start_weir, tmp_path, make_origin):
    (text,) = blocks("yaml")
    assert "127.0.0.1:3128" in text
    file = tmp_path / "weir.yaml"
    file.write_text(text.replace("127.0.0.1:3128", "127.0.0.1:0"))
    weir = start_weir("-c", str(file))
    done = subprocess.run(["curl", "-sS", "--fail", "-m", "10", "-x", "http://%s:%d" % weir.address,
                           make_origin().url()], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr


def test_plugin(installed, tmp_path):
    (block,) = [block for block in blocks("sh") if "plugin new" in block]
    done = subprocess.run(["bash", "-ec", block], cwd=tmp_path, env=installed.environment(),
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hello.so: can be loaded" in done.stdout


def test_every_dev_command_is_known():
    helped = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, timeout=20)
    named = {line[1] for line in commands("./dev")}
    assert {"run", "test", "bench"} <= named
    for name in named:
        assert re.search(rf"^  {name}\b", helped.stdout, re.M), name


def test_every_folder_is_there():
    folders = re.findall(r"^\| `(\w+)/` \|", README, re.M)
    assert len(folders) >= 6
    for folder in folders:
        assert (ROOT / folder).is_dir(), folder
