"""The first ten minutes on a rented machine, walked in messages: what stands in the way ends with what to type, and the way goes on there.

The machine is an empty folder: this repository's files, a PATH with what a bare image has, an empty HOME. Its Pythons are scripts that
answer as those of Ubuntu 22.04 and 24.04 do.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_server.serverapp import ServerApp

from tools import distribution, gpu_check, kernel, lab, pythons

ROOT = Path(__file__).parents[1]
CODENAMES = ("bookworm", "trixie", "noble", "jammy")
DEADSNAKES = "add-apt-repository -y ppa:deadsnakes/ppa && apt-get install -y python3.11 python3.11-venv"
# Answers the question that tools.pythons asks; what make runs by it, the Python of the tests runs.
STUB = """#!/bin/sh
[ "$1" = -c ] && { echo '%s'; exit; }
exec %s "$@"
"""


@pytest.fixture
def box(tmp_path, monkeypatch):
    """As root on a machine of a given distribution: box(codename, python3=..., python3_11=...) prepares it and returns its `make`."""
    here, path = tmp_path / "bytes-in-motion", tmp_path / "bin"
    shutil.copytree(ROOT / "tools", here / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "requirements.txt", "requirements-dev.txt", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, here)

    def prepare(codename, **answers):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for tool in ("sh", "make", "id"):
            (path / tool).symlink_to(shutil.which(tool))
        (path / "apt-get").write_text("#!/bin/sh\n")
        for name, answer in answers.items():
            (path / name.replace("_", ".")).write_text(STUB % (json.dumps(answer), sys.executable))
        for script in path.iterdir():
            script.is_symlink() or script.chmod(0o755)
        (tmp_path / "os-release").write_text(f'NAME="Ubuntu"\nVERSION_CODENAME={codename}\n')
        said = {"PATH": str(path), "HOME": str(tmp_path / "home"), "OS_RELEASE": str(tmp_path / "os-release")}
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return lambda *words: subprocess.run(["make", *words], cwd=here, env=said, **both).stdout

    return prepare


def answer(version, venv=False, candidate="", torch=None):
    numbers = [int(part) for part in version.split(".")]
    return {
        "version": numbers, "candidate": candidate, "executable": f"python{version}", "venv": venv, "torch": torch, "site": None
    }  # fmt: skip


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="a walk as root")


@as_root
def test_ubuntu_22_has_python_3_10_alone(box):
    """Nothing, then its 3.10, then its 3.11 that is no release: each time the same command, and behind it the way is open."""
    bare = box("jammy")
    assert DEADSNAKES in bare("lab") and "Python is missing" in bare("kernel")
    old = answer("3.10.12")
    for here in ({}, {"python3_11": answer("3.11.0", venv=True, candidate="3.11.0rc1")}):
        said = box("jammy", python3=old, **here)("lab")
        assert "Type this, then the same make command again:\n    apt-get update && " in said and DEADSNAKES in said
        assert "3.10" in said and ("3.11.0rc1" in said) == bool(here)
    said = box("jammy", python3=old, python3_11=answer("3.11.13"))("lab")
    assert "    apt-get update && apt-get install -y python3.11-venv\n" in said


@as_root
def test_ubuntu_24_has_python_3_12_without_venv(box):
    make = box("noble", python3=answer("3.12.3"))
    for word in ("lab", "kernel", "book"):
        assert "    apt-get update && apt-get install -y python3.12-venv\n" in make(word)
    said = box("noble", python3=answer("3.12.3", venv=True))("lab", "TORCH=keep")
    assert "no Python on PATH has torch; name one that has with PYTHON=" in said and "drop TORCH" in said
    assert "PYTHON=python3.9 is not here" in make("lab", "PYTHON=python3.9")
    assert ".venv/bin/python -m tools.kernel" in make("-n", "kernel"), "the Python that the line before it brings"


@as_root
@pytest.mark.parametrize("codename", [*CODENAMES, "unknown"])
def test_without_a_python_the_shell_says_what_python_would(box, codename, monkeypatch, tmp_path):
    said = box(codename)("lab")
    monkeypatch.setenv("OS_RELEASE", str(tmp_path / "os-release"))
    command = distribution.python()
    assert bool(command) == (codename in CODENAMES)
    assert (f"    {command}\n" in said) if command else ("Install 3.11, 3.12 or 3.13" in said)


def test_who_is_not_root_types_sudo(monkeypatch):
    monkeypatch.setattr(distribution.os, "geteuid", lambda: 1000)
    assert distribution.next_step("a && b").endswith("    sudo sh -c 'a && b'")


def test_where_no_package_is_known_a_python_can_be_named(monkeypatch):
    monkeypatch.setenv("OS_RELEASE", "nowhere")
    monkeypatch.setattr(pythons, "probe", {"python3": pythons.Python("python3", (3, 9, 2), True, None, None)}.get)
    with pytest.raises(pythons.NoPython, match=r"on PATH: 3\.9\)\. Install one, and name it with PYTHON="):
        pythons.find()


@pytest.fixture
def taken(monkeypatch):
    """A port that somebody listens on, on all addresses, as a provider's Jupyter does; the next one is free."""
    with socket.socket() as theirs:
        theirs.bind(("0.0.0.0", 0))
        theirs.listen()
        monkeypatch.setattr(lab, "FIRST", theirs.getsockname()[1])
        monkeypatch.setattr(lab, "LAST", lab.FIRST + 20)
        yield lab.FIRST


def starts(monkeypatch, capsys, *words, **environ):
    """What `make lab` prints and becomes there."""
    became = []
    for name in ("SSH_CONNECTION", "SSH_TTY", *lab.OUTSIDE[0], *lab.OUTSIDE[1]):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(lab.getpass, "getuser", lambda: "root")
    monkeypatch.setattr(lab.os, "execv", lambda program, words: became.extend(words))
    monkeypatch.setattr(lab, "CONTAINERS", ())
    monkeypatch.setattr(sys, "argv", ["lab", *words])
    status = lab.main()
    return capsys.readouterr(), became, status


@pytest.mark.parametrize(
    ("environ", "way"),
    [
        ({"SSH_CONNECTION": "8.8.4.4 5000 8.8.8.8 22"}, "root@8.8.8.8"),
        ({"SSH_CONNECTION": "8.8.4.4 5000 2001:4860:4860::8888 2222"}, "-p 2222 root@2001:4860:4860::8888"),
        ({"SSH_CONNECTION": "8.8.4.4 5000 10.0.3.7 22"}, "..."),  # behind a gateway: what is outside, nobody here knows
        ({"SSH_TTY": "/dev/pts/0", "RUNPOD_PUBLIC_IP": "8.8.8.8", "RUNPOD_TCP_PORT_22": "40022"}, "-p 40022 root@8.8.8.8"),
        ({"PUBLIC_IPADDR": "8.8.8.8", "VAST_TCP_PORT_22": "40022"}, "-p 40022 root@8.8.8.8"),
    ],
)  # fmt: skip
def test_the_tunnel_has_the_port_that_is_taken_and_the_way_here(taken, monkeypatch, capsys, environ, way):
    said, became, _ = starts(monkeypatch, capsys, **environ)
    port = next(word.removeprefix("--port=") for word in became if word.startswith("--port="))
    assert int(port) > taken and f"port {port} ({taken} is taken)" in said.out
    assert f"    ssh -N -L {port}:127.0.0.1:{port} {way}\n" in said.out and "`make kernel`" in said.out
    assert "--no-browser" in became and "--ServerApp.port_retries=0" in became
    assert ("--allow-root" in became) == (os.geteuid() == 0)


def test_at_home_there_is_no_tunnel_and_a_port_that_was_asked_for_is_taken_or_refused(taken, monkeypatch, capsys):
    said, became, status = starts(monkeypatch, capsys, "--port", str(taken))
    assert (status, became) == (1, []) and f"port {taken} is taken: name another (PORT= of make lab)" in said.err
    said, became, _ = starts(monkeypatch, capsys)
    assert "ssh" not in said.out and "--no-browser" not in became


def test_jupyter_takes_the_words():
    """An unknown one it would only warn of, and its own address need not be this machine's alone."""
    server = ServerApp()
    server.parse_command_line(lab.command(8890, here=False)[3:])
    said = (server.ip, server.port, server.port_retries, server.open_browser, server.extra_args)
    assert said == ("127.0.0.1", 8890, 0, False, ["notebooks"])
    assert server.allow_root == (os.geteuid() == 0)


def test_a_kernel_comes_and_goes_and_leaves_what_it_found(monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    theirs = tmp_path / "labextensions" / kernel.DRAWN_BY[0]
    theirs.mkdir(parents=True)
    said = kernel.add()
    spec = KernelSpecManager().get_kernel_spec(kernel.NAME)
    assert spec.argv[0] == sys.executable and spec.display_name == "Bytes in Motion" and spec.display_name in said
    assert str(ROOT / "notebooks") in said and "make kernel REMOVE=1" in said
    mine = [tmp_path / "labextensions" / name for name in kernel.DRAWN_BY[1:]]
    assert all((place / "package.json").exists() for place in mine) and list(theirs.iterdir()) == []
    kernel.add()
    assert "removed" in kernel.remove() and "not in" in kernel.remove()
    assert not any(place.is_symlink() for place in mine) and theirs.exists()
    assert kernel.NAME not in KernelSpecManager().find_kernel_specs()


@pytest.mark.parametrize(
    ("lacking", "managed", "typed"),
    [
        (["torch", "psutil"], False, "make kernel"),
        (["psutil"], True, "make kernel TORCH=keep"),
        (["psutil", "numpy"], False, "-m pip install psutil numpy"),
    ],
)
def test_gpu_check_on_a_bare_machine_says_what_to_type(monkeypatch, capsys, tmp_path, lacking, managed, typed):
    """Since Ubuntu 24.04 and Debian 12 pip installs nothing into the distribution's Python (PEP 668)."""
    if managed:
        (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(gpu_check.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(gpu_check.sys, "base_prefix", sys.prefix)
    monkeypatch.setattr(gpu_check, "missing", lambda needed: lacking)
    assert gpu_check.main([]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"gpu-check needs {', '.join(lacking)}. Type: ") and said.endswith(f"{typed}\n")


def test_an_old_python_is_said_before_it_meets_the_library(monkeypatch, capsys):
    monkeypatch.setattr(gpu_check.sys, "version_info", (3, 10, 12, "final", 0))
    assert gpu_check.main([]) == 2
    assert "gpu-check needs Python 3.11, 3.12 or 3.13" in (said := capsys.readouterr().err) and "make kernel" in said


def test_no_word_of_the_first_minutes_wants_git():
    does = subprocess.run(
        ["make", "-n", "lab", "kernel", "gpu-check"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "git" not in does.stdout
