"""Builds books for the tests: the real one, and a sample that holds everything a page may hold."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import plotly.graph_objects as go
import yaml

from helpers.view.figures.show import chart
from helpers.view.player.widget import player_html, player_spec, resolve

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = Path(__file__).with_name("sample")
MACHINERY = ("assets", "helpers", "website")
# One that begins, one that shows a table, one that a page cannot run, one that shows a widget, one that raises.
CODES = (
    "from helpers.collectives import CATALOGUE, check\nfrom helpers.view import player\n\n"
    'ring = CATALOGUE["all_reduce", "ring"](nranks=3)\nprint(ring)',
    "class Table:\n    def _repr_html_(self):\n        return '<table><tr><th>a</th></tr><tr><td>1</td></tr></table>'\n\nTable()",
    "from helpers.ranks import Ranks\n\nwith Ranks() as ranks:\n    print(ranks.label)",
    "player(ring)",
    'from helpers import units\n\nmine = "3 potatoes"     # <- your size\nunits.parse_nbytes(mine)',
)
LIMIT_S = 600  # half a minute on two cores; for a build that hangs


def build(source: Path, out: Path) -> tuple[int, str]:
    """Build the book in `source` from nothing into `out`; its exit code and everything it said."""
    command = [
        Path(sys.executable).with_name("jupyter-book"),
        "build",
        str(source),
        "--path-output",
        str(out),
        "-n",
        "-W",
        "--keep-going",
        "--all",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, cwd=ROOT, check=False)
    return done.returncode, done.stdout + done.stderr


def build_or_fail(source: Path, out: Path) -> Path:
    """The folder with the pages; AssertionError with the whole log when the build warns."""
    code, log = build(source, out)
    assert code == 0, f"the book does not build clean:\n{log}"
    return out / "_build" / "html"


def make_sample(folder: Path) -> Path:
    """The sample book, with the real configuration and outputs that the real library makes now."""
    shutil.copytree(SAMPLE, folder)
    shutil.copy(ROOT / "_config.yml", folder)
    (folder / "assets").symlink_to(ROOT / "assets")
    (folder / "recorded").mkdir()
    run = {"machine": "a machine", "date": "2026-01-01", "rows": [{"busbw": 1.25}, {"busbw": 23.456}]}
    (folder / "recorded" / "sample-run.json").write_text(json.dumps(run))
    (folder / "notebooks").mkdir()
    nbformat.write(sample_notebook(), folder / "notebooks" / "kitchen.ipynb")
    return folder


def sample_notebook() -> nbformat.NotebookNode:
    """A notebook with every kind of output: text, a stream, a table, a chart, a widget, an error."""
    v4 = nbformat.v4
    front = {
        "description": "A notebook with every kind of output.",
        "card": {"able": ["read outputs"], "hardware": "none"},
    }
    ring = resolve("all_reduce ring", nranks=3)
    spec = player_spec(ring)
    outputs = [
        v4.new_output("stream", name="stdout", text=f"{ring}\n"),
        v4.new_output(
            "display_data", {"text/html": "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"}
        ),
        v4.new_output("display_data", chart(sample_figure(), "lines", "Made up, for the tests.")),
        v4.new_output("display_data", {"text/html": player_html(spec), "text/plain": "Player(...)"}),
        v4.new_output("error", ename="ScheduleError", evalue="chunk 2", traceback=["ScheduleError: chunk 2 on rank 0"]),
    ]
    cells = [
        v4.new_markdown_cell("# What does a cell leave behind?\n\nA sentence between cells."),
        v4.new_markdown_cell("## Outputs"),
    ]
    made = enumerate(zip(CODES, outputs, strict=True), 1)
    cells += [v4.new_code_cell(code, execution_count=i, outputs=[output]) for i, (code, output) in made]
    kernel = {
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
    }
    return v4.new_notebook(cells=cells, metadata=front | kernel)


def sample_figure() -> go.Figure:
    """Two lines with a title, in colours of the light theme."""
    lines = [
        go.Scatter(x=[1, 2, 4, 8], y=[1.0, 1.5, 2.5, 4.5], name="model"),
        go.Scatter(x=[1, 2, 4, 8], y=[1.1, 1.4, 2.9, 4.4], name="run"),
    ]
    return go.Figure(
        lines, {"title": "Twice the ranks, twice the steps", "xaxis": {"title": "ranks"}, "yaxis": {"title": "ms"}}
    )


def pages_of_toc(source: Path) -> list[str]:
    """Every page that the table of contents names, as an address under the site's root."""
    toc = yaml.safe_load((source / "_toc.yml").read_text(encoding="utf-8"))
    return [f"{name}.html" for name in [toc["root"], *files_in(toc)]]


def files_in(entry: object) -> list[str]:
    """Every `file:` below an entry of the table of contents, in order."""
    if isinstance(entry, list):
        return [name for inner in entry for name in files_in(inner)]
    if isinstance(entry, dict):
        own = [entry["file"]] if "file" in entry else []
        return own + [name for key, inner in entry.items() if key != "file" for name in files_in(inner)]
    return []
