"""The table of what differs by version of torch is whole, and the cells that were recorded on another torch are those that it names."""

import json
from pathlib import Path
from types import SimpleNamespace

import by_torch
import pytest

from helpers import torch_versions
from helpers.torch_versions import NEWEST, PIN, cells, changes, has, numbers
from tools import torch_build, torches
from website import torch_table

ROOT = Path(__file__).resolve().parent.parent
RECORDS = sorted((ROOT / "recorded" / "torches").glob("*.json"))


def test_every_change_is_read_where_it_says_and_its_cells_are_there():
    labs = [json.loads(path.read_text()) for path in (ROOT / "notebooks").glob("*.ipynb")]
    ids = [cell["id"] for lab in labs for cell in lab["cells"] if cell["cell_type"] == "code"]
    assert len(ids) == len({*ids}), "a cell is told by its id alone"
    for one in changes().values():
        assert {*one.cells} <= {*ids}, one.key
        assert all((ROOT / file).exists() for file in one.read_in) and one.read_in, one.key
    asked = {path: path.read_text() for path in (ROOT / "helpers").rglob("*.py")}
    for key in ("type-of-reduction", "recorder-of-a-backend"):
        assert [str(path.relative_to(ROOT)) for path, text in asked.items() if f'"{key}"' in text] == [
            *changes()[key].read_in
        ]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_what_was_recorded_are_cells_of_the_table(path):
    run = json.loads(path.read_text())
    assert run["data"]["cells"].keys() <= cells(run["versions"]["torch"]).keys()
    assert "site-packages" not in path.read_text().replace("site-packages/torch", ""), "no path of a machine"


def test_a_version_is_told_by_its_first_two_numbers():
    assert numbers("2.15.0+rocm7.2") == numbers("2.15.0a0+gitabc") == NEWEST and numbers("2.13.0") == PIN
    assert has("type-of-reduction", "2.15.0") and not has("type-of-reduction", "2.14.1")
    assert cells("2.13.1") == {} and cells("2.15.0")["tensor-53"] == "text-of-a-product"
    assert cells("2.11.0")["sharded-units"] == "names-of-collectives" and "sharded-units" not in cells("2.14.0")
    with pytest.raises(ValueError, match="a version of torch begins as"):
        numbers("nightly")
    with pytest.raises(KeyError):
        has("nothing", "2.13.0")
    assert torch_build.VERSION.startswith("{}.{}.".format(*PIN))


def test_a_release_outside_the_table_is_refused_before_anything_is_made(capsys):
    assert torches.main(["--version", "2.16.0"]) == torches.main(["--version", "newest"]) == 2
    assert "from 2.11 to 2.15, got '2.16.0'" in capsys.readouterr().err


def test_outputs_are_compared_without_what_says_where_torch_lies():
    warned = {
        "output_type": "stream",
        "name": "stdout",
        "text": "/a/site-packages/x.py: V\n[rank 0] /a/b/site-packages/torch/x.py:1: W\n",
    }
    no_gpu = {
        "output_type": "stream",
        "name": "stderr",
        "text": "W1128 06:18 torch/x.py:1] No CUDA runtime is found, y\n",
    }
    shown = {"output_type": "display_data", "data": {"text/plain": "1", "image/png": "x"}, "metadata": {}}
    assert by_torch.plain([warned, no_gpu]) == [
        warned | {"text": "site-packages/x.py: V\n[rank 0] site-packages/torch/x.py:1: W\n"}
    ]
    item = SimpleNamespace(test_outputs=[shown], parent=SimpleNamespace(skip_compare=("image/png",)))
    assert by_torch.kept(item) == [shown | {"data": {"text/plain": "1"}}]


def test_only_a_named_cell_that_differs_is_taken_and_nothing_that_raises():
    def outcome(named: bool, words: str) -> str:
        item = SimpleNamespace(of_torch=named, cell=SimpleNamespace(id="a"), test_outputs=[])
        item.parent = SimpleNamespace(skip_compare=())
        hook = by_torch.pytest_runtest_makereport(
            item, SimpleNamespace(excinfo=SimpleNamespace(value=ValueError(words)))
        )
        next(hook)
        report = SimpleNamespace(failed=True, outcome="failed", user_properties=[])
        with pytest.raises(StopIteration):
            hook.send(report)
        return report.outcome

    assert outcome(True, "Cell outputs differ") == "passed"
    assert outcome(False, "Cell outputs differ") == outcome(True, "Cell execution caused an exception") == "failed"


def test_a_lane_is_recorded_with_its_counts():
    ended = torches.suite.Ended("labs", False, 1.0, {"counts": {"passed": 3, "skipped": 1, "warnings": 9}})
    assert torches.told(ended, "2026-11-28") == {
        "passed": 3,
        "failed": 0,
        "error": 0,
        "skipped": 1,
        "date": "2026-11-28",
    }
    assert by_torch.file_of("2.14.1+cu130", Path("x")) == Path("x/torch-2-14.json")
    assert torch_versions.OLDEST < PIN < NEWEST


def test_the_page_has_a_row_for_every_lane_and_every_change():
    lanes = [
        (one["versions"]["torch"].partition("+")[0], name)
        for one in map(json.loads, map(Path.read_text, RECORDS))
        for name in one["data"]["lanes"]
    ]
    rows = [[cell[0].astext() for cell in row] for row in torch_table.tried(ROOT / "recorded")]
    assert sorted((version, lane) for version, lane, *_ in rows) == sorted(lanes)
    assert len(torch_table.differs(ROOT)) == len(changes())
    assert [type(one).__name__ for one in torch_table.worded("a `b`").children] == ["Text", "literal"]
