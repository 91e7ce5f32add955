"""Floors 1 and 2 without numpy, as on a page: one process in which importing it fails says what this one says."""

import json
import subprocess
import sys
from pathlib import Path

from test_floors import floor, modules

from helpers.collectives import CATALOGUE, Schedule, check, price
from helpers.facts import LINKS
from helpers.yours import is_my_number_good

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "tests" / "nccl" / "output"
PASTED = [(OUTPUT / name).read_text() for name in ("tables/efa-all_reduce.txt", "logs/nccl-2.27.5-choices.txt")]
FORBID = """
import sys

class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numpy":
            raise ImportError(f"{name} is forbidden here")

sys.meta_path.insert(0, Forbidden())
"""
CHILD = f"""{FORBID}
import importlib, json
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "tests")!r}]
names, wrong = json.load(sys.stdin)
for name in names:
    importlib.import_module(name)
import test_without_numpy as told
from helpers.collectives import CATALOGUE, PROMISES, simulate
asked = [lambda: list(simulate(CATALOGUE["all_reduce", "ring"](2), [[1, 2]] * 2)), lambda: PROMISES["scatter"].after(2, 2, 0)]
print(json.dumps([told.prices(), told.refusals(wrong), told.verdicts(), [told.error(one) for one in asked], "numpy" in sys.modules]))
"""


def error(call) -> str:
    try:
        return f"no error: {call()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def prices() -> list[list[float]]:
    """Of every entry, proved, under both rules."""
    made = [build(nranks=8) for build in CATALOGUE.values()]
    assert [check(s) for s in made] == [None] * len(made)
    return [[price(s, 2**26, LINKS["nvlink-4"], rule).seconds for rule in ("steps", "dataflow")] for s in made]


def refusals(wrong: list[str]) -> list[str]:
    return [error(lambda text=text: check(Schedule.parse(text))) for text in wrong]


def verdicts() -> list[str]:
    return [str(is_my_number_good(text)) for text in PASTED]


def wrong_schedules() -> list[str]:
    """Each entry without its last step, with its first step twice, and begun by a transfer of what is not there."""
    texts = [str(build(nranks=5)).splitlines() for build in CATALOGUE.values()]
    without, twice = ([[*lines[:-1]] for lines in texts], [[*lines[:2], *lines[1:]] for lines in texts])
    empty = [[lines[0], "0:1→2", *lines[1:]] for lines in texts if "broadcast" in lines[0]]
    return ["\n".join(lines) for lines in (*without, *twice, *empty)]


def test_floors_1_and_2_import_prove_price_and_judge_without_numpy():
    low, wrong = [name for name in modules() if 1 <= floor(name) <= 2], wrong_schedules()
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps([low, wrong]), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    priced, refused, judged, arrays, brought = json.loads(done.stdout)
    assert (priced, refused, judged, brought) == (prices(), refusals(wrong), verdicts(), False)
    said = "\n".join(refused)
    assert len(low) > 150 and "twice" in said and "should hold [0 + 1 + 2 + 3 + 4]" in said
    assert "rank 1 sends chunk 0, but nothing is there yet" in said
    assert [one.partition(" gives arrays and needs numpy")[0] for one in arrays] == [
        "ImportError: simulate",
        "ImportError: a promise's before or after",
    ]


def test_the_finder_forbids():
    done = subprocess.run(
        [sys.executable, "-c", f"{FORBID}\nimport numpy.typing"], capture_output=True, text=True, check=False
    )
    assert "ImportError: numpy is forbidden here" in done.stderr
