"""What is kept of the mutants: the draw, a line per verdict, the reasons of those that no test can tell, and the table of it all."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tools.mutation.draw import PARTS, SEED
from tools.mutation.judge import Verdict
from tools.mutation.points import Point

FOLDER = Path(__file__).resolve().parents[2] / "recorded" / "mutants"
RUNS = ("before", "after")


def write_draw(drawn: dict[str, list[Point]], folder: Path = FOLDER) -> None:
    """Every part's faults, one a line, numbered in the order in which they are judged."""
    lines = [
        json.dumps({"id": f"{part[-1]}-{number:03}", "part": part, **asdict(point)}, ensure_ascii=False)
        for part, points in drawn.items()
        for number, point in enumerate(points, 1)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "drawn.jsonl").write_text("\n".join(lines) + "\n")


def read_draw(folder: Path = FOLDER) -> dict[str, tuple[str, Point]]:
    """Part and point by id, in order."""
    lines = map(json.loads, (folder / "drawn.jsonl").read_text().splitlines())
    return {line.pop("id"): (line.pop("part"), Point(**line)) for line in lines}


def judged(run: str, folder: Path = FOLDER) -> dict[str, Verdict]:
    """The verdicts of a run by id; of a mutant judged twice the later one."""
    file = folder / f"{run}.jsonl"
    lines = map(json.loads, file.read_text().splitlines()) if file.is_file() else ()
    return {line.pop("id"): Verdict(**line) for line in lines}


def add(run: str, name: str, verdict: Verdict, folder: Path = FOLDER) -> None:
    """One line, at once: a run that is stopped goes on where it was."""
    with (folder / f"{run}.jsonl").open("a") as file:
        file.write(json.dumps({"id": name, **asdict(verdict)}) + "\n")


def equivalent(folder: Path = FOLDER) -> dict[str, str]:
    """Why no test can tell a mutant from the program, by id."""
    return _said("equivalent", folder)


def mended(folder: Path = FOLDER) -> dict[str, str]:
    """The test that was written for a survivor, by id; it is tried first."""
    return _said("mended", folder)


def _said(what: str, folder: Path) -> dict[str, str]:
    file = folder / "survivors.toml"
    return tomllib.loads(file.read_text())[what] if file.is_file() else {}


def counts(part: str, run: str, folder: Path = FOLDER) -> Counter:
    """Verdicts of a part; an equivalent one counts as that, judged or not."""
    same, found = equivalent(folder), judged(run, folder)
    mine = [name for name, (of, _) in read_draw(folder).items() if of == part]
    verdicts = [found[name].verdict if name in found else "not judged" for name in mine]
    return Counter(
        "equivalent" if v in ("survived", "not judged") and n in same else v
        for n, v in zip(mine, verdicts, strict=True)
    )


def rate(found: Counter) -> float:
    """The share of the judged ones that tests can tell, and did."""
    return found["killed"] / max(1, found["killed"] + found["survived"])


COLUMNS = ("drawn", "killed", "survived", "equivalent", "gone", "not judged")


def table(folder: Path = FOLDER) -> str:
    """The summary in Markdown: a row per part and run, then every survivor."""
    rows = [
        f"# Mutants, seed {SEED}",
        "",
        "Made by `python -m tools.mutants table` from the files beside it. killed %: of those judged that are not equivalent.",
        "A mutant meets the tests that reach it, of the package's own folders (draw.PARTS); a survivor's line in the run says where dear",
        "ones were left out, so that what is killed is a lower bound. gone: the code that it was planted in.",
        "",
    ]
    rows += [f"| part | run | {' | '.join(COLUMNS)} | killed % |", f"|---|---|{'---|' * (len(COLUMNS) + 1)}"]
    for part in PARTS:
        for run in RUNS:
            found = counts(part.name, run, folder)
            found["drawn"] = found.total()
            cells = " | ".join(str(found[column]) for column in COLUMNS)
            rows.append(f"| {part.name} | {run} | {cells} | {rate(found):.1%} |")
    return "\n".join([*rows, *_survivors(folder)]) + "\n"


def _survivors(folder: Path) -> list[str]:
    """Each mutant that outlived a run, with its place and what became of it."""
    same, tests, runs = equivalent(folder), mended(folder), {run: judged(run, folder) for run in RUNS}
    rows = ["", "| id | place | fault | before | after | why |", "|---|---|---|---|---|---|"]
    for name, (_, point) in read_draw(folder).items():
        verdicts = [runs[run][name].verdict if name in runs[run] else "" for run in RUNS]
        if {"survived", "gone"} & set(verdicts) or name in same:
            place = f"{point.path.removeprefix('helpers/')} {point.function}".strip()
            fault = f"`{_short(point.expression)}` → `{_short(point.becomes)}`"
            why = f"equivalent: {same[name]}" if name in same else f"mended: {tests[name]}" if name in tests else ""
            rows.append(f"| {name} | {place} | {fault} | {' | '.join(verdicts)} | {why} |".replace("  ", " "))
    return rows


def _short(text: str) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= 60 else f"{line[:57]}..."
