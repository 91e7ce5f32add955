"""The verdict at a prompt: `python -m helpers.yours`, and the same as one file on a Python that has nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_tables import run, times

from helpers.version import VERSION
from helpers.yours import is_my_number_good
from helpers.yours.__main__ import main
from helpers.yours.page import shared, told_on
from helpers.yours.share.hidden import hidden
from helpers.yours.share.report import report
from helpers.yours.tables.printing import printed
from tools import others
from website.pyz import packed

FAULTS = sorted((Path(__file__).parent / "faults").iterdir())
OUTPUT = Path(__file__).parents[1] / "nccl" / "output"
HEALTHY = printed("H200", "all_reduce", 8, "2.29.2", times(run("H200")))
SEVERAL = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from helpers.yours import is_my_number_good
print(json.dumps([sys.version_info[:2], [is_my_number_good(Path(name).read_bytes()).as_json() for name in sys.argv[2:]]]))
print([name for name in sys.modules if name.partition(".")[0] in ("numpy", "torch")])
"""


@pytest.fixture(scope="module")
def pyz(tmp_path_factory):
    path = tmp_path_factory.mktemp("copied") / "bim.pyz"
    path.write_bytes(packed())
    return path


def bare(python, *words, **more):
    """A command in a process that has nothing of ours, not even an environment."""
    done = subprocess.run([python, "-I", *map(str, words)], capture_output=True, env={}, check=False, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    ("text", "status"), [(HEALTHY, 0), ("97.3\n", 1), ("hello\n", 2)], ids=["fine", "accused", "not read"]
)
def test_a_pipe_gets_the_verdict_and_a_status(pyz, text, status):
    code, out, _ = bare(sys.executable, pyz, input=text.encode(), cwd=pyz.parent)
    assert (code, out) == (status, f"{is_my_number_good(text)}\n")


@pytest.mark.parametrize("version", ["3.10", "3.13"])
def test_one_file_says_on_another_python_what_the_library_says_here(pyz, version):
    python = others.at_hand(version)
    if python is None:
        pytest.skip(f"Python {version} is not at hand")
    files = [*FAULTS, *sorted((OUTPUT / "tables").glob("*.txt")), *sorted((OUTPUT / "topologies").glob("*.txt"))]
    code, out, err = bare(python, "-c", SEVERAL, pyz, *files)
    assert code == 0, err
    told, foreign = out.splitlines()
    here = json.loads(json.dumps([is_my_number_good(path.read_bytes()).as_json() for path in files]))
    assert json.loads(told) == [[*map(int, version.split("."))], here] and foreign == "[]"


def test_it_is_found_by_any_name_and_made_the_same_twice(pyz):
    assert pyz.read_bytes() == packed() and b"tomllib.py" in pyz.read_bytes()
    pyz.chmod(0o755)
    named = f"..{os.sep}copied0{os.sep}.{os.sep}bim.pyz"
    code, out, err = bare(sys.executable, named, "--json", input=HEALTHY.encode(), cwd=pyz.parent)
    assert code == 0, err
    assert json.loads(out) == json.loads(json.dumps(is_my_number_good(HEALTHY).as_json()))


def test_files_of_ranks_and_texts_of_windows(tmp_path, capsys):
    wide = tmp_path / "wide.txt"
    wide.write_bytes(HEALTHY.encode("utf-16"))
    assert main([str(wide)]) == 0 and capsys.readouterr().out == f"{is_my_number_good(HEALTHY)}\n"
    for rank, text in enumerate(
        ("NCCL version 2.29.2+cuda13.0\n", "[1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM\n")
    ):
        (tmp_path / f"log.{rank}").write_text(text)
    main([str(tmp_path / "log.0"), str(tmp_path / "log.1")])
    assert "2.29.2" in capsys.readouterr().out


def test_what_is_shared_names_no_host(tmp_path, capsys):
    path = tmp_path / "mine.txt"
    path.write_text(HEALTHY.replace("node-0", "secret-host-7"))
    assert main([str(path), "--share"]) == 0
    told = capsys.readouterr().out
    assert told == report(is_my_number_good(hidden(path.read_text()))) and f"Motion* {VERSION}" in told
    assert "secret-host-7" not in told and "<https://github.com/" in told


def test_files_lose_their_names_too():
    """A text that came as a file before it is judged, what is no text in its verdict."""
    text = HEALTHY.replace("node-0", "secret-host-7")
    assert json.loads(shared([text.encode()], None, ["mine.txt"]))["text"] == report(is_my_number_good(hidden(text)))
    dumps = json.loads((OUTPUT / "logs" / "gloo-skip.json").read_text().replace('"0"', '"10.20.30.40"'))
    assert "10.20.30.40" in str(is_my_number_good(dumps)) and "10.20.30.40" not in told_on(dumps, None)


def test_efa_without_gpudirect_is_a_remark():
    found = is_my_number_good((OUTPUT / "tables" / "efa-2x-t4-all_reduce.txt").read_text())
    assert found.accused == () and "not every EC2 instance" in next(
        one.why for one in found.causes if one.name == "wrong path"
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [(["none.txt"], "none.txt: No such file"), (["--machine", "DGX-1", "x"], "invalid choice: 'DGX-1'")],
)
def test_what_cannot_be_asked_is_said(words, why, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2 and why in capsys.readouterr().err
