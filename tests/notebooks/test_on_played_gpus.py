"""Labs where there is a GPU, on played ones: the cells that ask for the device, or watch ranks live, and the cells that those need.

What a played GPU cannot tell, tests/fake_cuda says. Here it counts whose numbers a lab says that it shows, and that its claims hold.
"""

from __future__ import annotations

import json
import re
import subprocess
import symtable
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_cuda import environment
from lanes import some_rows

ROOT = Path(__file__).parents[2]
ROOM = str(512 << 20)  # bytes of a played GPU
HERE = "measured here: NVIDIA Fake, 512 MiB of its memory free"
CHILD = """
import ast, json, linecache, sys
scope = {"__name__": "__main__"}
for name, source in json.load(sys.stdin):
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    *first, last = ast.parse(source, name).body
    value = isinstance(last, ast.Expr)
    exec(compile(ast.Module(first if value else [*first, last], []), name, "exec"), scope)
    if value and (shown := eval(compile(ast.Expression(last.value), name, "eval"), scope)) is not None:
        print(shown)
"""
DEVICE, LIVE = r"\bdevice\b", r"\b(live|traces)\b"
RANK = r"rank \d: [0-9.]+ MiB, backward .*; in blocks [0-9.]+ MiB, reserved [0-9.]+ MiB"
# lab, GPUs, the cells that are wanted, and how often, at least, it says what
CASES = [
    ("training-memory", 1, DEVICE, {HERE: 1, "at most [0-9.]+ MiB in blocks, [0-9.]+ reserved; retries so far: 0": 1}),
    ("allocator", 1, DEVICE, {HERE: 1, "the same on NVIDIA Fake": 5, "blocks equal, 0 segments differ": 1}),
    ("too-big", 1, DEVICE, {HERE: 1, "GPU:   out of memory in the making of.*, retries: 1": 4}),
    ("memory-hierarchy", 2, DEVICE, {HERE: 1, "NVIDIA Fake; .* measured just now": 1, "GB/s one way, 256 MiB": 1}),
    ("roofline", 1, DEVICE, {HERE: 1, "NVIDIA Fake, bf16; .* measured just now": 1}),
    ("execution-model", 1, DEVICE, {HERE: 1, "NVIDIA Fake, float32; .* measured just now": 2}),
    *(("sharded", gpus, LIVE, {RANK: gpus}) for gpus in (4, 8)),
]
KEPT = [CASES[0], CASES[-2]]


def named(cell: str) -> tuple[set[str], set[str]]:
    """The global names that a cell binds, and those of others that it reads."""
    top = symtable.symtable(cell, "cell", "exec")
    bound = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    read = {one.get_name() for one in top.get_symbols() if one.is_referenced()}
    read |= {one.get_name() for scope in _inside(top) for one in scope.get_symbols() if one.is_global()}
    return bound, read - bound


def _inside(scope: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in scope.get_children():
        yield child
        yield from _inside(child)


def needed(lab: str, wanted: str) -> list[tuple[str, str]]:
    """(id, source) of the cells in which `wanted` is found, and of all that they need, in order."""
    cells = json.loads((ROOT / "notebooks" / f"{lab}.ipynb").read_text())["cells"]
    found, names = [], set()
    for cell in reversed([cell for cell in cells if cell["cell_type"] == "code"]):
        source = "".join(cell["source"])
        bound, read = named(source)
        if re.search(wanted, source) or bound & names:
            found.append((cell["id"], source))
            names = names - bound | read
    return found[::-1]


@pytest.mark.parametrize(
    "lab, gpus, wanted, told",
    some_rows(CASES, KEPT, "one more lab on a played GPU"),
    ids=[f"{lab} on {gpus}" for lab, gpus, *_ in CASES],
)
def test_a_lab_measures_the_gpu_and_says_so(lab, gpus, wanted, told, tmp_path):
    env = environment(gpus, tmp_path, FAKE_CUDA_MEMORY=ROOM)
    cells = needed(lab, wanted)
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(cells),
        env=env,
        cwd=ROOT / "notebooks",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-1000:]
    said = {text: len(re.findall(text, done.stdout)) for text in told}
    assert all(said[text] >= times for text, times in told.items()), f"{said}\n{done.stdout}"


def test_of_a_lab_those_cells_run_that_are_needed():
    ids = [name for name, _ in needed("training-memory", DEVICE)]
    assert ids[:2] == ["training-memory-01", "training-memory-device"] and "training-memory-16" not in ids
