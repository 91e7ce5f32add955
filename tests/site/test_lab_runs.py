"""The table of labs by GPUs and the labs' cards: both say what the records say, of every lab."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from books import ROOT

from helpers.records import lab_runs
from helpers.records.labs import GPUS
from website import cards
from website import lab_runs as table

LABS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
RUNS = lab_runs()
DAY = r"\d{4}-\d\d-\d\d"


def plain(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.fixture(scope="module")
def page(site) -> str:
    return (site / "book" / "recorded-runs.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(page) -> dict[str, list[str]]:
    """By lab what stands under each number of GPUs."""
    found = re.search(r'<table class="[^"]*bim-lab-runs.*?</table>', page, re.S)[0]
    body = [
        [plain(one) for one in re.findall(r"<td.*?</td>", row, re.S)] for row in re.findall(r"<tr.*?</tr>", found, re.S)
    ]
    return {cells[0]: cells[1:] for cells in body if cells}


def test_every_lab_has_a_row_and_every_cell_is_never_or_a_day_with_card_torch_and_nccl(page, rows):
    assert sorted(rows) == LABS
    for lab, cells in rows.items():
        for n, cell in zip(GPUS, cells, strict=True):
            if (run := RUNS.get((lab, n))) is None:
                assert cell == "never"
                continue
            day, letter = re.fullmatch(rf"({DAY}) ([A-Z]+)(?:, on the CPU)?", cell).groups()
            made = plain(re.search(rf"<li><p>{letter}: (.*?)</p>", page)[1])
            assert day == run.date and run.machine in made and "torch " in made
            assert n == 0 or (run.machine.startswith(f"{n} x ") and "nccl " in made)


@pytest.mark.parametrize("folder", ["book", "notebooks"])
def test_the_card_of_a_lab_and_of_its_chapter_says_what_its_row_says(site, rows, folder):
    for lab, cells in rows.items():
        html = (site / folder / f"{lab}.html").read_text(encoding="utf-8")
        card = re.search(r'<div class="bim-card.*?</dl>', html, re.S)[0]
        link, told = re.search(
            r'<dt[^>]*>(?:Lab ran|Ran)<.*?<a class="reference internal" href="([^"]*)">(.*?)</a>', card, re.S
        ).groups()
        said: dict[int, str] = {}
        for part in plain(told).split("; "):
            numbers, what = re.fullmatch(
                rf"(no GPU|[\d, ]+) ?(?:GPUs?)? (never|{DAY}(?:, on the CPU)?)", part.replace("No", "no")
            ).groups()
            said |= {int(n): what for n in numbers.replace("no GPU", "0").split(", ")}
        assert link.endswith("recorded-runs.html#lab-runs")
        assert [said[n] for n in GPUS] == [re.sub(r" [A-Z]+(?=,|$)", "", cell) for cell in cells]


def test_no_card_promises_a_gpu():
    """Which GPUs a lab has run on say the records; two pages ask for one, for a command that needs it."""
    told = {
        path.stem: re.search(r"^  hardware: (.*)$", path.read_text(), re.M) for path in (ROOT / "book").glob("*.md")
    }
    front = {stem: found[1] for stem, found in told.items() if found}
    assert told.keys() - front.keys() == {"intro"}
    assert {stem for stem, hardware in front.items() if "GPU" in hardware} == {"setup", "recorded-runs"}
    cards = [json.loads((ROOT / "notebooks" / f"{lab}.ipynb").read_text())["metadata"]["card"] for lab in LABS]
    assert not [card for card in cards if "GPU" in card["hardware"]]


def test_what_a_run_with_gpus_says_that_took_none(tmp_path):
    """And a letter after Z."""
    told = json.loads(Path(ROOT, "recorded", next(iter(RUNS.values())).path).read_text())
    told |= {"name": "units-1", "label": "4 ranks, gloo, CPU"}
    told["machine"]["gpus"], told["versions"]["nccl"] = ["NVIDIA H200"], "2.27.7"
    path = tmp_path / "labs" / "units-1.json"
    path.parent.mkdir()
    path.write_text(json.dumps(told))
    runs = lab_runs(tmp_path)
    run = runs["units", 1]
    assert table.cell(run, {table.where(run): "A"}).astext() == f"{run.date} A, on the CPU"
    assert table.in_words("units", runs) == f"1 GPU {run.date}, on the CPU; 0, 2, 4, 8 GPUs never"
    assert [table.letter(i) for i in (0, 25, 26, 51, 52)] == ["A", "Z", "AA", "AZ", "BA"]


def test_minutes_are_told_by_ranks():
    def run(seconds: float, label: str = "8 ranks, gloo, CPU") -> dict:
        return {"data": {"seconds": seconds}, "machine": {"cores": 2}, "label": label}

    assert table.minutes({}) == ""
    assert table.minutes({8: run(181), 2: run(9), 4: run(80)}) == "1 min with 2 or 4 ranks, 3 min with 8, on 2 cores"
    assert table.minutes({4: run(100, "1 process, CPU")}) == "2 min, on 2 cores"


def test_a_card_tells_the_minutes_of_its_records_and_until_there_are_some_its_own(tmp_path):
    told = json.loads(Path(ROOT, "recorded", RUNS["ring", 0].path).read_text())
    told["data"]["seconds"], told["name"] = 130.0, "ring-8ranks"
    path = tmp_path / "recorded" / "labs" / "ring-8ranks.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(told))
    card = {"hardware": "a laptop", "run": 7}
    for page, words in (("book/ring", "2 min with 8 ranks, on 2 cores"), ("notebooks/trees", "7 min")):
        lasting = table.lasts(SimpleNamespace(srcdir=tmp_path, docname=page))
        assert dict(cards.facts(card, lasting, page, {}))["Run"].astext() == words


def test_no_record_is_of_a_played_gpu():
    assert not [run.path for run in RUNS.values() if "Fake" in run.machine]
