"""`make notebooks` writes the same bytes twice, runs from a fresh kernel, and refuses what must not be saved."""

import nbformat
import pytest

from helpers.records import lab_runs
from tools import labs, notebooks


@pytest.fixture
def write(tmp_path):
    def write(*sources, **metadata):
        cells = [nbformat.v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(sources)]
        path = tmp_path / "lab.ipynb"
        path.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=metadata)))
        return path

    return write


def test_outputs_counts_metadata_a_widgets_table_bytes_and_the_record(write, monkeypatch):
    told = "print(os.environ['BYTES_IN_MOTION'], os.getcwd() == os.path.abspath('.'))"
    player = "from helpers.view import player\nplayer('all_reduce ring', nranks=2)"
    path = write("import os", told, "6 * 7", player, card={"minutes": 5}, widgets={"state": {}})
    monkeypatch.setattr(labs, "NOTEBOOKS", path.parent)
    monkeypatch.setattr(labs, "RECORDED", path.parent / "labs")
    notebooks.run(path)
    ((key, run),) = lab_runs(path.parent).items()
    assert key == ("lab", 0) and run.what == "1 process, CPU" and run.command == "make notebooks"
    first = path.read_bytes()
    saved = nbformat.read(path, as_version=4)
    assert [cell.execution_count for cell in saved.cells] == [1, 2, 3, 4]
    assert saved.cells[1].outputs[0].text == "recorded True\n"
    assert saved.cells[2].outputs[0].data == {"text/plain": "42"}
    assert saved.metadata == {
        "card": {"minutes": 5},
        "kernelspec": notebooks.KERNEL,
        "language_info": {"name": "python"},
    }, "ours stays, an editor's goes"
    (output,) = saved.cells[3].outputs
    assert set(output.data) == {"text/html", "text/plain"} and "<table" in output.data["text/html"], "no random id"
    monkeypatch.undo()
    notebooks.run(path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("source", "reason"),
    [("1 / 0", "ZeroDivisionError"), ("import sys; print('noise', file=sys.stderr)", "must stay empty:\nnoise")],
)
def test_a_failing_or_noisy_cell_leaves_the_file_alone(write, source, reason, capsys):
    path = write("print(1)", source)
    before = path.read_bytes()
    assert notebooks.main([str(path)]) == 1
    assert reason in capsys.readouterr().err and path.read_bytes() == before


def test_a_cell_that_hangs_is_stopped(write, monkeypatch):
    monkeypatch.setattr(notebooks, "CELL_SECONDS", 1)
    with pytest.raises(notebooks.NotebookFailed, match=r"lab\.ipynb.*timed out"):
        notebooks.run(write("import time; time.sleep(60)"))
