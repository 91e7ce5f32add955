"""Floors 3 and 4 and all labs on another torch: `make torch VERSION=2.15.0`.

Makes an environment for it under .venv/pythons, once, with all else at the course's pins: torch's CPU build where it can be had, else
that of PyPI, which brings several gigabytes of CUDA. --record writes recorded/torches: what passed on which day, and what cells of labs
gave whose output that version changes (helpers/torch_versions.toml). --python takes an environment that is there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from helpers import torch_versions
from tools import others, pins, progress, suite

ROOT = others.ROOT
FOLDER = ROOT / "recorded" / "torches"
FLOORS = tuple(f"tests/{name}" for name in ("ranks", "measure", "parallel", "exercises", "scripts"))
SOME = ("-n", str(suite.WORKERS), "-p", "no:nbval")
LANES = {
    "floors 3 and 4": (*SOME, "-m", "not faults and not alone and not matrix", *FLOORS),
    "faults": ("-n", str(suite.BREAKING), "-p", "no:nbval", "-m", "faults and not matrix", *suite.marked("faults")),
    "matrix of parallel": (*SOME, "-m", "matrix and not faults", "tests/parallel"),
    "labs": ("-n", str(suite.WORKERS), *suite.NBVAL, "notebooks"),
}
WRITE = "import json, pathlib, sys; from helpers.ranks.recorded import record; told = json.load(sys.stdin)\n"
WRITE += "record(**told | {'folder': pathlib.Path(told['folder'])})"


def prepared(version: str, index: str) -> str:
    """The Python of an environment with that torch. Raises CommandFailed."""
    texts = [(ROOT / file).read_text() for file in ("requirements.txt", "requirements-dev.txt")]
    wanted = pins.read(texts, keep_torch=True)
    held = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if pins.name(line) != "torch"]
    folder = others.HOME / f"torch-{version}-{hashlib.sha256(json.dumps([wanted, held]).encode()).hexdigest()[:12]}"
    python, title = str(folder / "bin/python"), f"torch {version}"
    if (folder / "done").exists():
        return python
    pip = others.environment(sys.executable, folder, title)
    (folder / "constraints.txt").write_text("\n".join(held) + "\n")
    build = f"torch=={version}+cpu"
    try:
        progress.run(title, [*pip, "--no-deps", "--retries", "1", "--index-url", f"{index}/cpu", build])
    except progress.CommandFailed:
        build = f"torch=={version}"
    progress.run(title, [*pip, build, *wanted, "-c", str(folder / "constraints.txt")])
    (folder / "done").touch()
    return python


def told(ended: suite.Ended, day: str) -> dict:
    """What is recorded of a lane."""
    counts = ended.tally.get("counts", {})
    return {kind: counts.get(kind, 0) for kind in ("passed", "failed", "error", "skipped")} | {"date": day}


def write(python: str, version: str, lanes: dict, cells: dict | None) -> Path:
    """The record, beside which lanes of an earlier day stay as they are."""
    name = "torch-{}-{}".format(*torch_versions.numbers(version))
    path = FOLDER / f"{name}.json"
    before = json.loads(path.read_text())["data"] if path.exists() else {"lanes": {}, "cells": {}}
    data = {"lanes": before["lanes"] | lanes, "cells": before["cells"] if cells is None else cells}
    command = f"make torch VERSION={version} RECORD=1"
    run = {"name": name, "data": data, "command": command, "label": f"torch {version}, CPU", "folder": str(FOLDER)}
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([python, "-c", WRITE], input=json.dumps(run), text=True, check=True, env=env, cwd=ROOT)
    return path


def run(python: str, version: str, names: list[str], record: bool) -> list[suite.Ended]:
    """Those lanes, one after the other."""
    from helpers.ranks.recorded import today

    ended, lanes, cells = [], {}, None
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "cells.json"
        for name in names:
            more = ("--cells-of-torch", str(kept)) if record and name == "labs" else ()
            ended.append(suite.run_lane(suite.Lane(name, (*LANES[name], *more), suite.in_long_turns), python))
            lanes[name] = told(ended[-1], today())
        cells = json.loads(kept.read_text()) if kept.exists() else None
    if record and not any(one.failed for one in ended):
        print(f"recorded as {write(python, version, lanes, cells).relative_to(ROOT)}", flush=True)
    return ended


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(prog="python -m tools.torches", description=__doc__.partition("\n")[0])
    ask.add_argument("--version", required=True, help="of torch, such as 2.15.0")
    ask.add_argument("--torch-index", default="", help="where torch publishes its wheels, one folder a build")
    ask.add_argument("--python", help="of an environment that has this torch and the course's pins")
    ask.add_argument("--only", nargs="+", choices=LANES, default=list(LANES), metavar="LANE", help=", ".join(LANES))
    ask.add_argument("--record", action="store_true", help="write what passed to recorded/torches")
    asked = ask.parse_args(argv)
    lowest, highest = torch_versions.OLDEST, torch_versions.NEWEST
    try:
        if not lowest <= torch_versions.numbers(asked.version) <= highest:
            between = "from {}.{} to {}.{}".format(*lowest, *highest)
            raise ValueError(f"VERSION is a release of torch {between}, got {asked.version!r}")
        python = asked.python or prepared(asked.version, asked.torch_index)
    except (ValueError, progress.CommandFailed) as error:
        print(*getattr(error, "tail", ()), error, sep="\n", file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ended = run(python, asked.version, asked.only, asked.record)
    print(*suite.table(ended), suite.total(ended), sep="\n", flush=True)
    return int(any(one.failed for one in ended))


if __name__ == "__main__":
    sys.exit(main())
