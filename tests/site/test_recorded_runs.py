"""The list of recorded runs: a row for each file, made from the file, with the pages that ask for it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from books import ROOT
from docutils import nodes

from helpers.records import FOLDER, records
from helpers.records.whole import KINDS
from website import recorded_runs
from website.recorded_runs import RecordedRunsDirective, asking, filled, made, shown_by
from website.roles import load_run

PAGES = frozenset(
    f"{path.parent.name}/{path.stem}" for path in [*ROOT.glob("book/*.md"), *ROOT.glob("notebooks/*.ipynb")]
)
RECORDS = {record.path: record for record in records()}


class Place:
    """What a directive asks of its page."""

    def __init__(self, root: Path):
        self.srcdir, self.found_docs, self.docname = str(root), PAGES, "book/recorded-runs"

    def note_reread(self) -> None:
        """The page is made anew in every build."""


def listed(monkeypatch, kind: str, root: Path = ROOT) -> tuple[list[nodes.Node], list[str]]:
    """What the directive makes of a kind, and what it warns of."""
    said: list[str] = []
    own, place = object.__new__(RecordedRunsDirective), Place(root)
    own.arguments = [kind]
    monkeypatch.setattr(RecordedRunsDirective, "env", place, raising=False)
    monkeypatch.setattr(RecordedRunsDirective, "get_location", lambda _: "here")
    monkeypatch.setattr(recorded_runs.log, "warning", lambda words, *rest, **_: said.append(words % rest))
    return own.run(), said


def cells(made_: list[nodes.Node]) -> list[list[str]]:
    rows = (row for one in made_ for body in one.findall(nodes.tbody) for row in body)
    return [[entry.astext() for entry in row] for row in rows]


@pytest.mark.parametrize("kind", KINDS)
def test_every_run_of_a_kind_has_a_row(monkeypatch, kind):
    found, warned = listed(monkeypatch, kind)
    own = [record for record in RECORDS.values() if record.kind == kind]
    rows = cells(found)
    told = {(*row[0].split("\n\n")[:2], row[-2]) for row in rows}
    assert warned == [] and told == {(one.path, one.what, one.date or "not stated") for one in own}
    assert len(rows) == len(own)
    assert rows or found[0].astext() == "None yet."


def test_what_rows_have_in_common_is_told_once_above_them(monkeypatch):
    found, _ = listed(monkeypatch, "memory")
    commands = [one.astext() for one in found if isinstance(one, nodes.paragraph)]
    assert len(commands) == len({made(record) for record in RECORDS.values() if record.kind == "memory"}) < 4
    assert all(one.endswith("; made by python -m helpers.measure record NAME:") for one in commands)


def test_a_file_that_is_damaged_fails_the_build(monkeypatch, tmp_path):
    shutil.copytree(FOLDER / "public", tmp_path / "recorded" / "public")
    path = tmp_path / "recorded" / "public" / "torch-8xh200-all_reduce.json"
    path.write_text(path.read_text().replace('"checked": "2026-11-21"', '"checked": "soon"'))
    found, warned = listed(monkeypatch, "published", tmp_path)
    assert found == [] and warned == [
        "public/torch-8xh200-all_reduce.json: source.checked: expected a date like 2026-11-23, got 'soon'"
    ]
    _, warned = listed(monkeypatch, "guessed")
    assert warned[0].startswith("'guessed' is no kind of recorded run: expected one of run, lab, torch, memory")


def test_the_pages_that_ask_for_a_run_are_found():
    def of(path: str) -> list[str]:
        return shown_by(RECORDS[path], ROOT, PAGES)

    assert "book/ring" in of("trace-ring-cpu.json") and "notebooks/ring" in of("ring-cpu.json")
    assert of("memory/llama-2-70b.json") == ["book/too-big"]
    assert {"book/inside-nccl", "book/recorded-runs"} <= set(of("public/nccl-tests-six-gpus.json"))
    assert "book/recorded-runs" in of("public/nccl-tests-six-gpus-timings.json")
    assert "notebooks/memory-hierarchy" in of("public/gpu-benches-h200-l2.json"), "its name is filled in"
    assert shown_by(RECORDS["public/nccl-tests-six-gpus.json"], ROOT, frozenset({"book/yours"})) in ([], ["book/yours"])
    unasked = [path for path, record in RECORDS.items() if record.kind == "run" and not of(path)]
    assert len(unasked) <= 1, unasked


def test_a_lab_is_told_as_one_and_a_day_stands_alone(monkeypatch):
    found, _ = listed(monkeypatch, "run")
    row = next(row for row in cells(found) if row[0].startswith("ring-cpu.json"))
    assert "ring (lab)" in row[-1].split(", ")
    told = next(one for one in RECORDS.values() if (one.date or "").startswith("published "))
    words, day = recorded_runs.when(told).children
    assert (words.astext(), day.astext()) == ("published ", told.date.split()[1])


@pytest.mark.parametrize(
    "words",
    [
        '"source": "run = measured_or_recorded(\\"ring-cpu\\", fn)"',
        "{recorded}`ring-cpu:rows.0.t`",
        "```{player}\n:recorded: ring-cpu\n```",
        'PATH / "ring-cpu.json"',
    ],
)
def test_a_source_asks_for_a_run_by_its_name(words):
    record = RECORDS["ring-cpu.json"]
    assert asking(record).search(words)
    assert not asking(record).search(words.replace("ring-cpu", "trace-ring-cpu").replace("ring-cpu`", "`"))
    assert not asking(record).search("the run ring-cpu is mentioned, and ring-cpu-2")


def test_a_trace_of_memory_is_asked_for_by_a_directive_or_a_call():
    record = RECORDS["memory/ddp.json"]
    for words in ("```{memory} zero-1 ddp\n", "```{memory} ddp zero-1\n", 'memory(\\"ddp\\")'):
        assert asking(record).search(words)
    assert not asking(record).search('ways = ["ddp"]')
    (made_up,) = filled('public(f\\"gpu-benches-{gpu.lower()}-l2\\")')
    assert re.fullmatch(made_up, "gpu-benches-h200-l2") and not re.fullmatch(made_up, "gpu-benches-h200")


def test_the_rows_that_the_page_quotes_are_those_that_it_names():
    page = (ROOT / "book" / "recorded-runs.md").read_text(encoding="utf-8")
    rows = load_run(FOLDER, "nccl-tests-six-gpus")["rows"]
    quoted = re.findall(r"`nccl-tests-six-gpus:rows\.(\d+)\.microseconds\.(\d+)", page)
    found = [(rows[int(row)], int(place)) for row, place in quoted]
    told = [(row["gpu"], row["nranks"], row["version"], row["nbytes"] << place) for row, place in found]
    before, after = ("B200", 4, "2.27.5", 2**23), ("B200", 4, "2.29.2", 2**23)
    slow, fast = ("L40S", 8, "2.27.3", 2**29), ("H200", 8, "2.29.2", 2**29)
    assert told == [before, after, slow, fast, before, after]
    assert {row["collective"] for row, _ in found} == {"all_reduce"}
    assert all(row["folder"] == row["version"] for row, _ in found)


def test_a_readers_run_hides_none_of_ours_and_is_cited_with_its_folder(tmp_path):
    for place, words in (("ring-cpu", "ours"), ("from/laptop/ring-cpu", "theirs")):
        path = tmp_path / f"{place}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"label": "{words}"}}')
    assert load_run(tmp_path, "ring-cpu")["label"] == "ours"
    assert load_run(tmp_path, "from/laptop/ring-cpu")["label"] == "theirs"
    with pytest.raises(KeyError, match="there are: ring-cpu, from/laptop/ring-cpu"):
        load_run(tmp_path, "trees-cpu")
