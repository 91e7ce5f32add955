"""How long each check takes, by durations.toml; `python -m tools.gpu.durations recorded/gpu-check.json` puts a run's own seconds there."""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

TABLE = Path(__file__).with_name("durations.toml")
GPUS = (1, 8)  # of its columns
UNKNOWN = [5.0, 5.0]  # of a check that is not there
SECONDS: dict[str, list[float]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))


def seconds(name: str, gpus: int) -> float:
    """What the check should take."""
    (few, many), (one, eight) = GPUS, SECONDS.get(name, UNKNOWN)
    return one + (eight - one) * (min(max(gpus, few), many) - few) / (many - few)


def put(text: str, column: int, found: dict[str, dict]) -> str:
    """The table's text with the seconds of the checks that passed in that column."""
    for name, answer in found.items():
        if answer["outcome"] == "passed":
            old = re.search(rf'^"{re.escape(name)}" = \[(.*), (.*)\]$', text, re.M)
            if old:
                row = [*old.groups()]
                row[column] = f"{answer['seconds']:.1f}"
                text = text.replace(old[0], f'"{name}" = [{", ".join(row)}]')
    return text


def main(argv: list[str]) -> int:
    """0; 2 where the run is of another number of GPUs."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu.durations", description=__doc__)
    parser.add_argument("run", type=Path, metavar="gpu-check.json")
    record = json.loads(parser.parse_args(argv).run.read_text(encoding="utf-8"))
    gpus = len(record["machine"]["gpus"])
    if gpus not in GPUS:
        print(
            f"the columns of {TABLE.name} are of {GPUS[0]} and {GPUS[1]} GPUs, and this run had {gpus}", file=sys.stderr
        )
        return 2
    TABLE.write_text(put(TABLE.read_text(encoding="utf-8"), GPUS.index(gpus), record["data"]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
