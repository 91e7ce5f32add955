"""What SECURITY.md promises: loopback only, no listener of ours, private folders, pickles from children alone, no exposed Jupyter."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from helpers.ranks import Ranks

ROOT = Path(__file__).resolve().parent.parent
LISTEN = "0A"
LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
# The modules that read a pickle, and from where it comes: a pipe to our own child or parent, or the notebook itself.
UNPICKLERS = {"plain_pickle.py", "call.py", "pack.py", "pending.py", "verdict.py", "wire.py", "life.py"}

EXPOSED = {  # each spelled so that this file does not hold what it looks for
    "listens on every interface": r"--(?:\w+\.)*ip[= ]+['\"]?(?:0\.0\.0\.0|\*|::)",
    "listens on every interface (config)": r"\.ip\s*=\s*['\"](?:0\.0\.0\.0|\*|::)?['\"]",
    "has no token": r"(?i)(?:--|\.)(?:\w+\.)*token\s*=\s*(?:''|\"\"|(?=\s|$))",
    "has no password": r"(?i)(?:--|\.)(?:\w+\.)*password\s*=\s*(?:''|\"\")",
    "answers every origin": r"allow_" + r"origin(?:_pat)?\s*=\s*['\"]?\.?\*",
    "checks no forgery": r"disable_check_" + r"xsrf\s*=\s*True",
}
RECIPES = {  # what the patterns must catch, in the forms that people copy
    "listens on every interface": ["jupyter lab --ip 0.0.0.0", "jupyter lab --ip=*", "--ServerApp.ip='0.0.0.0'"],
    "listens on every interface (config)": ["c.ServerApp.ip = '*'"],
    "has no token": ["--NotebookApp.token=''", '--IdentityProvider.token=""', "--ServerApp.token= --no-browser"],
    "has no password": ["--ServerApp.password=''"],
    "answers every origin": ["--ServerApp.allow_" + "origin='*'", "--allow_" + "origin=*"],
    "checks no forgery": ["--ServerApp.disable_check_" + "xsrf=True"],
}


@pytest.fixture
def four():
    with Ranks(4, backend="gloo") as ranks:
        yield ranks


def sockets(pid: int, table: str) -> list[tuple[str, str]]:
    """(local address, state) of every socket of this process in /proc/<pid>/net/<table>."""
    mine = {link[8:-1] for fd in Path(f"/proc/{pid}/fd").iterdir() if (link := _link(fd)).startswith("socket:")}
    rows = (line.split() for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:])
    return [(address(row[1].partition(":")[0]), row[3]) for row in rows if row[9] in mine]


def _link(fd: Path) -> str:
    try:
        return str(fd.readlink())
    except OSError:  # the descriptor of this very listing
        return ""


def address(raw: str) -> str:
    """ "0100007F" -> "127.0.0.1": /proc writes each 32 bits in the machine's own order."""
    data = b"".join(int(raw[i : i + 8], 16).to_bytes(4, "little") for i in range(0, len(raw), 8))
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


def everything_open(pids: list[int]) -> list[tuple[str, str]]:
    return [found for pid in pids for table in ("tcp", "tcp6", "udp", "udp6") for found in sockets(pid, table)]


def everything_left_open(pids: list[int]) -> list[tuple[str, str]]:
    """The same of processes that may end meanwhile, what an earlier test has started: then they hold nothing."""
    found = []
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += everything_open([pid])
    return found


def test_the_reader_of_proc_sees_a_listener_on_every_interface():
    with socket.create_server(("0.0.0.0", 0)):
        assert ("0.0.0.0", LISTEN) in everything_open([os.getpid()])


def test_ranks_talk_over_loopback_and_the_notebook_opens_no_socket(four):
    before = _sockets()
    pids = four.run(os.getpid)
    below = [p.pid for p in psutil.Process().children(recursive=True)]
    assert set(pids) <= set(below)
    found = everything_open(pids) + everything_left_open(list(set(below) - set(pids)))
    assert found, "Gloo's own connections are seen"
    assert {at for at, _ in found} <= LOOPBACK
    assert _sockets() <= before, "what others have left here may close meanwhile"


TORCHRUN = """
import os, sys, torch.distributed as dist
sys.path.insert(0, "tests")
from test_security import LISTEN, everything_open
dist.init_process_group("gloo")
if dist.get_rank() == 0:
    print(*sorted({at for at, state in everything_open([os.getppid()]) if state == LISTEN}))
dist.barrier()
"""


@pytest.mark.matrix("what torchrun itself opens")
@pytest.mark.parametrize("private", [False, True], ids=["as pages start it", "in a network of its own"])
def test_the_store_of_torchrun_listens_on_every_interface_of_its_network(tmp_path, private):
    """When this fails, torch has mended it, and SECURITY.md may say so."""
    (tmp_path / "job.py").write_text(TORCHRUN)
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        str(tmp_path / "job.py"),
    ]
    (there,) = re.findall(
        r"`(unshare .*) sh -c 'ip link set lo up; torchrun \.\.\.'`", (ROOT / "SECURITY.md").read_text()
    )
    inside = [*there.split(), "sh", "-c", 'ip link set lo up; exec "$@"', "-"]
    if private and (
        not shutil.which("ip") or subprocess.run([*inside, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("no network of its own can be made here")
    done = subprocess.run(
        [*inside * private, *command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.stdout.split() == ["::"], done.stderr


def _sockets() -> set[str]:
    """Those of this process, each by its number, which no other has while it is open."""
    return {link for fd in Path("/proc/self/fd").iterdir() if (link := _link(fd)).startswith("socket:")}


def test_private_folders_are_private(four):
    four.run(os.getpid)
    folders = [f for f in Path(tempfile.gettempdir()).glob("bytes-in-motion-*") if f.stat().st_uid == os.getuid()]
    assert folders
    for path in folders:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    mine = Path(four.run(_folder)[0])
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in mine.iterdir()} == {
        path.name: "0o600" for path in mine.iterdir()
    }


def _folder() -> str:
    """In a rank: where its notes are mapped from."""
    line = next(line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("/notes"))
    return str(Path(line.split()[-1]).parent)


def test_only_these_modules_read_a_pickle():
    """Each reads from a pipe to its own child or parent, none from a socket; plain_pickle.py reads files, as data that names no class."""
    readers = set()
    for path in (ROOT / "helpers").rglob("*.py"):
        names = {ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        if names & {
            "pickle.loads",
            "pickle.load",
            "pickle.Unpickler",
            "cloudpickle.loads",
            "cloudpickle.load",
            "torch.load",
        }:
            readers.add(path.name)
    assert readers <= UNPICKLERS, "say where its bytes come from, then add it"
    assert readers, "the search finds something"


@pytest.mark.parametrize("what", EXPOSED)
def test_the_patterns_know_what_people_copy(what):
    for recipe in RECIPES[what]:
        assert re.search(EXPOSED[what], recipe), recipe


def test_nothing_we_print_exposes_jupyter():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    read = [p for p in paths if p.is_file() and "vendor" not in p.parts and p != Path(__file__).resolve()]
    texts = {p: p.read_text(errors="ignore") for p in read if p.suffix in _READ or p.name == "Makefile"}
    assert len(texts) > 20
    found = [
        f"{p.name}: {what}" for p, text in texts.items() for what, rule in EXPOSED.items() if re.search(rule, text)
    ]
    assert found == []


_READ = {".md", ".ipynb", ".sh", ".py", ".yml", ".yaml", ".toml", ".txt", ".sbatch", ".cfg"}


def test_the_way_to_a_remote_machine_is_a_tunnel():
    for page in ("SECURITY.md", "book/setup.md", "book/renting.md"):
        assert "ssh -N -L" in (ROOT / page).read_text()
