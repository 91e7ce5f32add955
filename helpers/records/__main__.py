"""`python -m helpers.records [FILE|FOLDER ...]`: whether recorded runs are whole; without names, all of recorded/.

Prints a line for each file that is not, with the place in it, and ends with 1; else one line with how many are. `--unpack
run-8xh100.json.gz [--name NAME]` first makes recorded/from/8xh100 (or NAME) of what gpu-check packed, if all of it is whole.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from helpers.records.packed import unpack
from helpers.records.record import FOLDER
from helpers.records.whole import RecordError, files_of, whole


def files(asked: list[str]) -> Iterator[Path]:
    """Those named, and those in folders that are named. RecordError for what is not there or does not lie in recorded/."""
    for word in asked or [str(FOLDER)]:
        path = Path(word).resolve()
        if not path.exists():
            raise RecordError(f"{word}: no such file")
        if not path.is_relative_to(FOLDER):
            raise RecordError(f"{word}: recorded runs lie in recorded/; those of readers in recorded/from/NAME/")
        yield from files_of(path) if path.is_dir() else [path]


def main(argv: list[str]) -> int:
    """0 where all are whole, 1 where one is not."""
    parser = argparse.ArgumentParser(prog="python -m helpers.records", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="FILE|FOLDER", help="all of recorded/ where none is named")
    parser.add_argument("--unpack", type=Path, metavar="RUN", help="a run-NAME.json.gz of gpu-check")
    parser.add_argument("--name", help="of its folder in recorded/from; with --unpack")
    asked = parser.parse_args(argv)
    count, wrong = 0, []
    try:
        if asked.unpack:
            asked.names = [str(unpack(asked.unpack, asked.name, FOLDER))]
        for path in files(asked.names):
            count += 1
            try:
                whole(path, FOLDER)
            except RecordError as error:
                wrong.append(str(error))
    except RecordError as error:
        wrong.append(str(error))
    where = f" in recorded/from/{Path(asked.names[0]).name}" if asked.unpack and not wrong else ""
    print("\n".join(wrong) or f"{count} recorded files are whole{where}", file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
