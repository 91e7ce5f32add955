"""What others rely on stays: names, commands, what notebooks import, recorded runs. Saved links have a test of their own (test_links)."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
from pathlib import Path

import pytest
import warm

from helpers.ranks import load

ROOT = Path(__file__).resolve().parent.parent

NAMES = {
    "helpers.collectives": "Transfer Schedule CATALOGUE PROMISES simulate check price Price lower PRIMITIVES find_primitive",
    "helpers.nccl": "predict double_tree PROTOCOLS Platform launch_of",
    "helpers.ranks": "Ranks world World execute bench here emit measured_or_recorded record load fit_link traced",
    "helpers.ranks.primitives": "gathered text",
    "helpers.ranks.hooks": "unnoted",
    "helpers.ranks.hangs": "watch main",
    "helpers.memory": "closed_form roofline allocator",
    "helpers.measure": "track predict_step profile_step Sharding Recipe ladder place transfers",
    "helpers.parallel": "MLP Transformer Training Trained train difference share counted Zero",
    "helpers.facts": "ACCELERATORS LINKS MODELS Link lookup",
    "helpers.exercises": "claim refuses",
    "helpers.view": "player show keep figures",
}
WATCHED = (
    "import torch.distributed as dist\ndist.init_process_group('gloo')\ndist.barrier()\ndist.destroy_process_group()\n"
)


@pytest.mark.parametrize(("module", "names"), NAMES.items())
def test_a_public_name_stays(module, names):
    assert [name for name in names.split() if not there(module, name)] == []


def there(module: str, name: str) -> bool:
    """Would `from module import name` work?"""
    return hasattr(importlib.import_module(module), name) or importlib.util.find_spec(f"{module}.{name}") is not None


def imports(notebook: Path) -> set[tuple[str, str]]:
    """(module, name) of everything of ours that a lab imports."""
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    plain = ["".join(line for line in cell["source"] if not line.startswith(("%", "!"))) for cell in cells]
    nodes = [node for text in plain for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in nodes if (node.module or "").startswith("helpers")]
    return {(node.module, alias.name) for node in ours for alias in node.names}


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_what_a_lab_imports_is_there(notebook):
    wanted = sorted(imports(notebook))
    assert wanted and [found for found in wanted if not there(*found)] == []


@pytest.mark.matrix("commands in a Python of their own")
def test_the_primitives_are_a_command():
    done = warm.run("-m", "helpers.ranks", "--timeout", "30", nranks=2, GLOO_SOCKET_IFNAME="lo")
    assert done.returncode == 0 and "all_reduce" in done.stdout, done.stderr


@pytest.mark.matrix("commands in a Python of their own")
def test_a_watched_script_is_a_command(tmp_path):
    script = tmp_path / "quiet.py"
    script.write_text(WATCHED)
    done = warm.run("-m", "helpers.ranks.hangs", str(script), nranks=2, GLOO_SOCKET_IFNAME="lo")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_profiled_step_is_a_command(tmp_path):
    options = "--device meta --layers 1 --width 32 --heads 2 --ffn 64 --batch 1 --seq 8 --steps 1".split()  # noqa: SIM905
    done = warm.run("-m", "helpers.measure", *options, "--json", str(tmp_path / "step.json"))
    assert done.returncode == 0 and "peak" in done.stdout, done.stderr
    assert json.loads((tmp_path / "step.json").read_text())


def test_predictions_and_records_are_commands(monkeypatch, tmp_path, capsys):
    from helpers.measure import predictions
    from helpers.measure.profiling import record

    monkeypatch.setattr(predictions, "TARGET", tmp_path / "memory-predictions.json")
    monkeypatch.setattr(predictions, "questions", lambda: [("GPT-2", 1, 16, "none")])
    assert predictions.main([]) == 0 and "1 runs" in capsys.readouterr().out
    kept = json.loads((ROOT / "recorded" / "memory-predictions.json").read_text())
    made = json.loads((tmp_path / "memory-predictions.json").read_text())
    assert made.keys() == kept.keys() and made["columns"] == kept["columns"]
    assert callable(record.main)


@pytest.mark.parametrize("path", sorted((ROOT / "recorded").glob("*-*.json")), ids=lambda path: path.stem)
def test_a_recorded_run_is_read(path):
    kept = json.loads(path.read_text())
    if "data" in kept:
        run = load(path.stem)
        assert run.data and run.source == "replay" and run.machine and run.command
    else:
        assert kept["command"] and kept["machine"]
