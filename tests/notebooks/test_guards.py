"""Every committed notebook is clean, and every guard refuses a notebook made bad on purpose."""

import copy
import json
import tomllib
from pathlib import Path

import guards
import nbformat
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LEFT = tomllib.loads((HERE / "golf.toml").read_text())
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_committed_notebook_is_clean(path):
    assert guards.faults(path.read_text(), path.stem) == []
    assert (ROOT / "book" / f"{path.stem}.md").exists(), "a notebook has the stem of the page that it serves"


def test_the_card_of_a_lab_is_that_of_its_page():
    """It needs the page of its own stem, says which chapter it serves, and shares no sentence with another lab's card."""
    cards = {path.stem: nbformat.read(path, as_version=4).metadata for path in NOTEBOOKS}
    said = []
    for stem, metadata in cards.items():
        assert metadata.card["needs"] == [f"book/{stem}"], stem
        assert stem.split("-")[0] in metadata.description.partition(":")[0].lower(), metadata.description
        said += [metadata.description, *metadata.card["able"]]
    assert len(said) == len(set(said))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lab_makes_claims_that_can_fail(path):
    sources = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert sum("claim(" in source for source in sources) >= 3


def test_the_tags_are_those_of_the_table():
    table = tomllib.loads((HERE / "tags.toml").read_text())
    assert {path.stem: guards.tags(path.read_text()) for path in NOTEBOOKS} == table


def code(source, count, outputs=()):
    cell = nbformat.v4.new_code_cell(source, execution_count=count, outputs=list(outputs))
    cell["id"] = f"cell-{count}"
    return cell


def printed(text):
    return nbformat.v4.new_output("stream", name="stdout", text=text)


@pytest.fixture
def good():
    title = nbformat.v4.new_markdown_cell("# Ring\n\nThe lab of [the chapter](../book/ring.md).", id="title")
    cells = [title, code("import math", 1), code("print(math.pi)", 2, [printed("3.14\n")]), code("x = 1", 3)]
    metadata = {"kernelspec": guards.KERNEL, "language_info": {"name": "python"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def test_a_good_notebook_has_no_fault(good):
    assert guards.faults(nbformat.writes(good), "ring") == []


def html(text, **more):
    return nbformat.v4.new_output("display_data", data={"text/html": text, "text/plain": "it", **more})


def error():
    return nbformat.v4.new_output("error", ename="ValueError", evalue="x", traceback=[])


SPOILS = {
    "counts are": lambda nb: nb.cells[2].update(execution_count=None),
    "counts are [1, 3, 2]": lambda nb: (nb.cells[2].update(execution_count=3), nb.cells[3].update(execution_count=2)),
    "no output is stored": lambda nb: nb.cells[2].update(outputs=[]),
    "stores an error: ValueError": lambda nb: nb.cells[3].update(outputs=[error()]),
    "perhaps a magic or a shell call: '%time x'": lambda nb: nb.cells[3].update(source="%time x"),
    "perhaps a magic or a shell call: '!ls'": lambda nb: nb.cells[3].update(source="!ls"),
    "perhaps a magic or a shell call: '%%bash'": lambda nb: nb.cells[3].update(source="%%bash\nfalse"),
    "get_ipython() hides": lambda nb: nb.cells[3].update(source="get_ipython().run_line_magic('ls', '')"),
    "system() hides": lambda nb: nb.cells[3].update(source="os.system('false')"),
    "FigureWidget would save": lambda nb: nb.cells[3].update(source="f = go.FigureWidget()"),
    "an output is a FigureWidget": lambda nb: nb.cells[3].update(
        outputs=[html("", **{"text/plain": "FigureWidget({})"})]
    ),
    "types the label '4 ranks, nccl, 4 x H100'": lambda nb: nb.cells[3].update(source='x = "4 ranks, nccl, 4 x H100"'),
    "types the label ' ranks, gloo, CPU'": lambda nb: nb.cells[3].update(source='x = f"{4} ranks, gloo, CPU"'),
    "by tags, not by comments": lambda nb: nb.cells[3].update(source="x = 1  # NBVAL_SKIP"),
    "21 lines, more than 20": lambda nb: nb.cells[3].update(source="\n".join(["x = 1"] * 21)),
    "is empty": lambda nb: nb.cells[3].update(source=""),
    "an output carries a script": lambda nb: nb.cells[3].update(outputs=[html("<p><SCRIPT src=x></SCRIPT>")]),
    "output carries a script": lambda nb: nb.cells[3].update(outputs=[html("<img src=x onerror=alert(1)>")]),
    "without its text/html": lambda nb: nb.cells[3].update(
        outputs=[html("", **{"application/vnd.plotly.v1+json": {}})]
    ),
    "id of a widget": lambda nb: nb.cells[3].update(
        outputs=[html("", **{"application/vnd.jupyter.widget-view+json": {}})]
    ),
    "wrote to stderr": lambda nb: nb.cells[3].update(
        outputs=[nbformat.v4.new_output("stream", name="stderr", text="w")]
    ),
    "unknown tag 'nbval-skip'": lambda nb: nb.cells[3].metadata.update(tags=["nbval-skip"]),
    "a path of somebody's machine: '/Users/ada'": lambda nb: nb.cells[2].update(outputs=[printed("/Users/ada/x.py")]),
    "a token": lambda nb: nb.cells[3].update(source="t = 'hf_abcdefghijklmnop'"),
    "an address in memory": lambda nb: nb.cells[2].update(outputs=[printed("<f at 0x7f00deadbeef>")]),
    "metadata of a machine's kernel": lambda nb: nb.metadata.kernelspec.update(display_name="my env"),
    "machine's kernel": lambda nb: nb.metadata.update(language_info={"name": "python", "version": "3.11.7"}),
    "widget state": lambda nb: nb.metadata.update(widgets={}),
    "is not a title": lambda nb: nb.cells.pop(0),
    "no link to ../book/ring.md": lambda nb: nb.cells[0].update(source="# Ring"),
    "lines of imports": lambda nb: nb.cells[1].update(source="\n".join(f"import m{n}" for n in range(7))),
    "imports stand in the code cells [1, 3]": lambda nb: nb.cells[3].update(source="import os"),
    "bytes, more than": lambda nb: nb.cells[2].update(outputs=[printed("x" * 110_001)]),
    "not a valid notebook": lambda nb: nb.cells[2].pop("outputs"),
    "no code cell": lambda nb: nb.update(cells=nb.cells[:1]),
}


@pytest.mark.parametrize("fault", SPOILS)
def test_a_guard_refuses(fault, good):
    bad = copy.deepcopy(good)
    SPOILS[fault](bad)
    found = guards.faults(json.dumps(bad), "ring")
    assert any(fault in line for line in found), found


GOLF = {
    "line 1 has 89 characters": "x = " + "1" * 85,
    "line 1 assigns inside a call": "round(y := 2)",
    "line 2 has a comprehension within a comprehension": "x = 1\n[[a for a in b] for b in c]",
    "line 1 gives a lambda a name": "f = lambda: 1",
    "two statements on a line": "if True:\n    x = 1; y = 2",
}


@pytest.mark.parametrize("fault", GOLF)
def test_what_saves_a_line_and_costs_the_reader_is_seen(fault, good):
    assert guards.golf(nbformat.writes(good)) == []
    good.cells[3]["source"] = GOLF[fault]
    (found,) = guards.golf(nbformat.writes(good))
    assert found.startswith("code cell 3: ") and fault in found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lab_is_written_for_its_reader(path):
    found = guards.golf(path.read_text())
    assert len(found) <= LEFT.get(path.stem, 0), found


def test_text_that_is_no_notebook_is_refused():
    assert guards.faults("{", "ring")[0].startswith("not a valid notebook")


def test_an_error_that_the_lesson_wants_is_tagged(good):
    good.cells[3].update(source="1 / 0", outputs=[error()])
    good.cells[3].metadata["tags"] = ["raises-exception"]
    assert guards.faults(nbformat.writes(good), "ring") == []
    assert guards.tags(nbformat.writes(good)) == {"raises-exception": 1}
