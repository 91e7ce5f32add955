"""The floors of the library: what a package may stand on, read from sys.modules after importing its modules.

One after the other in a process for each package, what a module brings being what it adds; `make test-all` imports each alone, too.
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.floors import floor_of

HELPERS = Path(__file__).resolve().parent.parent / "helpers"

FLOOR = floor_of()
FRONT_ENDS = ["plotly", "anywidget", "ipywidgets", "IPython", "ipykernel", "jupyter_client", "traitlets"]
SHIPPING = ["torch", "cloudpickle", "psutil", "pynvml"]
REFUSED = {
    1: ["numpy", *SHIPPING, *FRONT_ENDS],
    2: [*SHIPPING, *FRONT_ENDS],
    3: FRONT_ENDS,
    4: FRONT_ENDS,
    5: ["torch", "sphinx", "docutils", "myst_nb"],
}
# Imported once before the modules of that floor are forked off: allowed there, and slow to import every time.
TORCH = ["numpy", "torch", "torch.distributed._functional_collectives", "cloudpickle", "psutil", "pynvml"]
WARM = {1: [], 2: ["numpy"], 3: TORCH, 4: TORCH, 5: ["numpy", "plotly.graph_objects", "anywidget"]}

# One process for all that start with the same imports, and a fork of it for each group with imports of its own. Modules that are
# imported apart are so in a fork of that, and none sees what another brought along.
PROBE = """
import gc, importlib, json, os, subprocess, sys
gc.disable()  # a collection in a fork writes to every page that it shares
warm, groups, apart = json.loads(sys.argv[1])
sys.path[:0] = sys.argv[2:]
for name in warm:
    importlib.import_module(name)
known = set(sys.modules)
print(json.dumps(sorted(known)), flush=True)

def look(name):
    import threading
    importlib.import_module(name)
    tasks = f"/proc/self/task/{os.getpid()}/children"
    children = open(tasks).read().split() if os.path.exists(tasks) else []
    brought = sorted(sys.modules.keys() - known)
    known.update(brought)
    return {"modules": brought, "children": len(children), "threads": threading.active_count() - 1}

def answer(name, out):
    try:
        json.dump(look(name), out)
    except BaseException as error:
        json.dump({"error": repr(error)}, out)
    out.flush()

def tell(name):
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        with os.fdopen(write, "w") as out:
            answer(name, out)
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        print(f"[{json.dumps(name)}, {told.read()}]", flush=True)
    os.wait()

def tell_here(name):
    print(f"[{json.dumps(name)}, ", end="")
    answer(name, sys.stdout)
    print("]", flush=True)

for first, names in groups:
    if os.fork() == 0:
        try:
            for name in first:
                importlib.import_module(name)
            for name in names:
                (tell if apart else tell_here)(name)
        finally:
            os._exit(0)
    os.wait()
"""


def modules() -> list[str]:
    """Every module of helpers, by dotted name."""
    names = []
    for path in sorted(HELPERS.rglob("*.py")):
        parts = path.relative_to(HELPERS.parent).with_suffix("").parts
        if path.name != "__main__.py":
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def floor(module: str) -> int:
    """The floor of a dotted name under helpers; helpers itself is the ground."""
    parts = module.split(".")
    return FLOOR[parts[1]] if len(parts) > 1 else 0


def look(
    groups: list[tuple[list[str], list[str]]], warm: list[str], *paths: str, apart: bool = True
) -> dict[str, dict]:
    """What importing each module leaves in its process: {"modules", "children", "threads"} or {"error"}.

    groups: (what all its modules may find imported, besides `warm`; its modules). apart: each in a process of its own.
    """
    command = [sys.executable, "-c", PROBE, json.dumps([warm, groups, apart]), str(HELPERS.parent), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)  # a minute on two cores
    known, *told = map(json.loads, done.stdout.splitlines())
    for _, found in told:
        found["modules"] = known + found.get("modules", [])
    return dict(told)


def above(module: str, seen: dict) -> list[str]:
    """What `module` imported though it may not: foreign packages of a higher floor, and our own from above."""
    level = max(floor(module), 1)
    tops = {name.split(".")[0] for name in seen["modules"]}
    ours = [name for name in seen["modules"] if name.startswith("helpers.") and floor(name) > floor(module)]
    return [name for name in REFUSED[level] if name in tops] + ours


def look_at(names: list[str], *, apart: bool) -> dict[str, dict]:
    """`look`, every module in the fork of its package or of that."""
    groups: dict[tuple[str, ...], list] = {}
    for package in sorted({".".join(name.split(".")[:2]) for name in names}):  # its modules cannot be without it
        inside = sorted(name for name in names if name.startswith(f"{package}.") and package != "helpers")
        groups.setdefault(tuple(WARM[max(floor(package), 1)]), []).extend([([], [package]), ([package], inside)])
    found = [look(those, list(warm), apart=apart) for warm, those in groups.items()]
    return {name: told for some in found for name, told in some.items()}


@pytest.fixture(scope="module")
def seen(request) -> dict[str, dict]:
    """What `look` finds for every module; for those of the selected tests when only tests of single modules are selected."""
    users = [item for item in request.session.items if "seen" in getattr(item, "fixturenames", ())]
    named = [item.callspec.params["module"] for item in users if hasattr(item, "callspec")]
    return look_at(sorted(set(named)) if len(named) == len(users) else modules(), apart=False)


def stands(module: str, found: dict) -> bool:
    """On its floor, and its import has started nothing."""
    return "error" not in found and above(module, found) == [] and (found["children"], found["threads"]) == (0, 0)


@pytest.mark.parametrize("module", modules())
def test_a_module_stands_on_its_floor_and_its_import_starts_nothing(module, seen):
    assert stands(module, seen[module]), seen[module] | {"above": above(module, seen[module])}


@pytest.mark.matrix("every module imported alone")
def test_a_module_that_is_imported_first_stands_there_too():
    found = look_at(modules(), apart=True)
    assert {module: told for module, told in found.items() if not stands(module, told)} == {}


def test_nccl_may_import_collectives_and_never_the_other_way(seen):
    for module in modules():
        if floor(module) == 2 and module.split(".")[1] == "collectives":
            assert not [name for name in seen[module]["modules"] if name.startswith("helpers.nccl")]


def named_by(source: str) -> set[str]:
    """Packages of helpers that a source imports, also inside its functions."""
    together = ",".join(re.findall(r"^ *from helpers import (.+)$", source, re.M))
    return {*re.findall(r"^ *(?:from|import) helpers\.(\w+)", source, re.M), *re.findall(r"\w+", together)}


def test_an_import_between_packages_points_to_an_earlier_one_of_the_map():
    order = list(FLOOR)
    assert order.index("step") < order.index("parallel") < order.index("measure")
    planted = "def f():\n    from helpers import units, view\n    import helpers.ranks.play"
    assert named_by(planted) == {"units", "view", "ranks"}
    for path in sorted(HELPERS.rglob("*.py")):
        own = path.relative_to(HELPERS).parts[0].removesuffix(".py")
        later = order[order.index(own) + 1 :] if own in order else []
        assert not named_by(path.read_text()) & {*later}, path


def reached(lab: Path) -> set[str]:
    """Modules that a lab reaches through their package, as "helpers.facts.fit" in `facts.fit`, and names in no import of its own."""
    cells = [cell["source"] for cell in json.loads(lab.read_text())["cells"] if cell["cell_type"] == "code"]
    lines = [line for source in cells for line in [*source, "\n"] if not line.startswith(("%", "!"))]
    nodes = list(ast.walk(ast.parse("".join(lines))))
    named_from = [(node.module, alias) for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    packages = {
        alias.asname or alias.name: f"helpers.{alias.name}" for module, alias in named_from if module == "helpers"
    }
    named = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    found = {f"{packages[node.value.id]}.{node.attr}" for node in named if node.value.id in packages}
    return found & set(modules()) - {f"{module}.{alias.name}" for module, alias in named_from}


def test_a_lab_reaches_no_module_that_only_another_import_has_brought(seen):
    labs = {lab.stem: reached(lab) for lab in sorted((HELPERS.parent / "notebooks").glob("*.ipynb"))}
    assert "helpers.facts.fit" in labs["latency-bandwidth"]

    def brought(module: str) -> bool:
        package = module.rpartition(".")[0]
        lazy = "def __getattr__" in (HELPERS.parent / package.replace(".", "/") / "__init__.py").read_text()
        return lazy or module in seen[package]["modules"]

    assert {lab: bad for lab, all_ in labs.items() if (bad := {m for m in all_ if not brought(m)})} == {}


def test_every_package_has_a_floor():
    packages = {path.stem for path in HELPERS.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert packages - {"__init__"} == set(FLOOR), "the map in helpers/README.md, a line a room"


def test_the_probe_sees_a_front_end_a_child_and_a_thread(tmp_path):
    (tmp_path / "bad_child.py").write_text("import subprocess\nchild = subprocess.Popen(['sleep', '1'])\n")
    (tmp_path / "bad_thread.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1,), daemon=True).start()\n"
    )
    (tmp_path / "bad_import.py").write_text("import anywidget\n")
    (tmp_path / "bad_error.py").write_text("1 / 0\n")
    seen = look([([], ["bad_child", "bad_thread", "bad_import", "bad_error"])], [], str(tmp_path))
    assert seen["bad_child"]["children"] == 1
    assert seen["bad_thread"]["threads"] == 1
    assert "ZeroDivisionError" in seen["bad_error"]["error"]
    assert "anywidget" in above("helpers.ranks", seen["bad_import"])


def test_an_import_that_points_up_is_refused():
    assert above("helpers.ranks", {"modules": ["helpers", "helpers.view.shared.schedules.traces", "torch"]}) == [
        "helpers.view.shared.schedules.traces"
    ]
    assert above("helpers.view", {"modules": ["helpers.collectives", "torch"]}) == ["torch"]
    assert above("helpers.facts", {"modules": ["helpers.units", "numpy"]}) == ["numpy"]
    assert above("helpers.collectives", {"modules": ["helpers.units", "numpy"]}) == []
