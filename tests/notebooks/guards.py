"""What a committed notebook must be, beside what nbval compares (which alone lets a magic hide a whole cell)."""

from __future__ import annotations

import ast
import getpass
import json
import re
import socket
from collections import Counter
from itertools import pairwise

import nbformat

BYTES = 110_000
# Four figures and five, each stored twice; three, and a hundred and forty values with their conventions.
LARGER = {"meshes": 135_000, "latency-bandwidth": 155_000, "inside-nccl": 145_000, "interconnects": 140_000}
CELL_LINES = 20
IMPORT_LINES = 6
WIDTH = 88  # columns that a page shows at 1280 px
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
PRINTING = {"print", "display", "show", "claim", "gap", "player", "glue", "world"}
SHELLS = {"get_ipython", "system", "popen"}
LABEL = re.compile(r"(?:^|\d) ranks?, (?:gloo|nccl)\b")  # "4 ranks, gloo, CPU", or what follows {n} in an f-string
TAGS = {"nbval-ignore-output", "by-ranks", "raises-exception", "remove-cell", "hide-input"}
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}

PRIVATE = {
    "a path of somebody's machine": r"(?:/(?:home|Users|root|tmp|work|workspace)/|[A-Z]:\\\\|site-packages|\.venv)[\w.-]*",
    "a token": r"\b(?:hf_|ghp_|github_pat_|sk-|AKIA)[A-Za-z0-9_-]{12,}|[?&]token=\w+",
    "an address in memory": r"\bat 0x[0-9a-f]{6,}",
}


def faults(text: str, stem: str) -> list[str]:
    """Everything wrong with the notebook `text` that belongs to the page book/<stem>; [] when nothing is."""
    try:
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(json.loads(text))
    except (ValueError, nbformat.ValidationError) as error:
        return [f"not a valid notebook: {str(error).splitlines()[0]}"]
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    found = [*_whole(text, notebook, LARGER.get(stem, BYTES)), *_opening(notebook, cells, stem), *_counts(cells)]
    for number, cell in enumerate(cells, 1):
        found += [f"code cell {number}: {fault}" for fault in (*_source(cell), *_outputs(cell), *_tags(cell))]
    return found


def tags(text: str) -> dict[str, int]:
    """How often each tag stands on a cell."""
    cells = json.loads(text)["cells"]
    return dict(sorted(Counter(tag for cell in cells for tag in cell["metadata"].get("tags", [])).items()))


def _whole(text: str, notebook, most: int) -> list[str]:
    found = [f"{len(text.encode())} bytes, more than {most}"] if len(text.encode()) > most else []
    patterns = {**PRIVATE, "the name of this machine": rf"\b{re.escape(socket.gethostname())}\b"}
    if getpass.getuser() != "root":  # every collective has a root
        patterns["the name of a user"] = rf"\b{re.escape(getpass.getuser())}\b"
    for what, pattern in patterns.items():
        found += [f"{what}: {hit[0]!r}" for hit in re.finditer(pattern, text)][:1]
    if notebook.metadata.get("kernelspec") != KERNEL or notebook.metadata.get("language_info") != {"name": "python"}:
        found.append("metadata of a machine's kernel: run make notebooks")
    return found + (["widget state is saved in the metadata"] if "widgets" in notebook.metadata else [])


def _opening(notebook, cells, stem: str) -> list[str]:
    first = notebook.cells[0] if notebook.cells else None
    found = []
    if first is None or first.cell_type != "markdown" or not re.search(r"^# \w", first.source, re.MULTILINE):
        found.append("the first cell is not a title")
    elif f"](../book/{stem}.md" not in first.source:
        found.append(f"the first cell has no link to ../book/{stem}.md")
    importing = [(n, line) for n, cell in enumerate(cells, 1) for line in cell.source.splitlines() if _imports(line)]
    if len({n for n, _ in importing}) > 1:
        found.append(f"imports stand in the code cells {sorted({n for n, _ in importing})}, not in one")
    return found + (
        [f"{len(importing)} lines of imports, more than {IMPORT_LINES}"] if len(importing) > IMPORT_LINES else []
    )


def _imports(line: str) -> bool:
    return re.match(r"(?:import|from)\s+\w", line) is not None  # an import inside a def is part of a lesson


def _counts(cells) -> list[str]:
    counts = [cell.execution_count for cell in cells]
    if not cells:
        return ["no code cell"]
    return [] if counts == list(range(1, len(cells) + 1)) else [f"counts are {counts}, not 1 to {len(cells)} in order"]


def _source(cell) -> list[str]:
    try:
        tree = compile(cell.source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        return [f"not plain Python, perhaps a magic or a shell call: {(error.text or '').strip()!r}"]
    names = {node.id if isinstance(node, ast.Name) else node.attr for node in ast.walk(tree) if _named(node)}
    found = [f"{name}() hides failures from the notebook" for name in sorted(names & SHELLS)]
    if "FigureWidget" in names:
        found.append("FigureWidget would save megabytes of plotly.js")
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found += [f"types the label {one!r}: ask the ranks, or the record" for one in texts if LABEL.search(one)]
    if "NBVAL_" in cell.source:
        found.append("nbval is told by tags, not by comments")
    lines = len(cell.source.splitlines())
    if not cell.source.strip():
        found.append("is empty")
    if lines > CELL_LINES:
        found.append(f"{lines} lines, more than {CELL_LINES}")
    return found + (["prints, and no output is stored"] if _prints(tree) and not cell.outputs else [])


def golf(text: str) -> list[str]:
    """What saves a line and costs the reader, in every code cell of the notebook `text`."""
    cells = [cell for cell in nbformat.reads(text, as_version=4).cells if cell.cell_type == "code"]
    return [f"code cell {n}: {fault}" for n, cell in enumerate(cells, 1) for fault in _golf(cell.source)]


def _golf(source: str) -> list[str]:
    tree = compile(source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    found = [
        f"line {n} has {len(line)} characters" for n, line in enumerate(source.splitlines(), 1) if len(line) > WIDTH
    ]
    for node in ast.walk(tree):
        inside = [within for within in ast.walk(node) if within is not node]
        if isinstance(node, ast.Call) and any(isinstance(within, ast.NamedExpr) for within in inside):
            found.append(f"line {node.lineno} assigns inside a call")
        if isinstance(node, COMPREHENSIONS) and any(isinstance(within, COMPREHENSIONS) for within in inside):
            found.append(f"line {node.lineno} has a comprehension within a comprehension")
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            found.append(f"line {node.lineno} gives a lambda a name: write def")
        body = getattr(node, "body", None)
        if isinstance(body, list) and any(one.end_lineno == two.lineno for one, two in pairwise(body)):
            found.append(f"two statements on a line, in the block at line {body[0].lineno}")
    return found


def _named(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)


def _prints(tree: ast.Module) -> bool:
    """Whether running the cell calls something that prints (a def alone prints nothing)."""
    running = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    calls = [node for top in running for node in ast.walk(top) if isinstance(node, ast.Call)]
    return any(isinstance(call.func, ast.Name) and call.func.id in PRINTING for call in calls)


def _outputs(cell) -> list[str]:
    found = []
    for output in cell.outputs:
        if output.output_type == "error" and "raises-exception" not in cell.metadata.get("tags", []):
            found.append(f"stores an error: {output.ename}")
        if output.get("name") == "stderr":
            found.append("wrote to stderr")
        data = output.get("data", {})
        html = "".join(data.get("text/html", ""))
        if re.search(r"<script|<iframe|javascript:|\son\w+=", html, re.IGNORECASE) or "application/javascript" in data:
            found.append("an output carries a script")
        if "FigureWidget" in json.dumps(data):
            found.append("an output is a FigureWidget")
        if "application/vnd.plotly.v1+json" in data and not html:
            found.append("a figure without its text/html, which the page needs")
        if "application/vnd.jupyter.widget-view+json" in data:
            found.append("stores the id of a widget that is gone: run make notebooks")
    return found


def _tags(cell) -> list[str]:
    return [f"unknown tag {tag!r}" for tag in cell.metadata.get("tags", []) if tag not in TAGS]
