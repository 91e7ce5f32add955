"""scripts/execution-model.py: what it prints is what it measured, its model is whole lines, its panels make the product."""

import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "scripts" / "execution-model.py"


@pytest.fixture
def run(monkeypatch):
    """run(*arguments): the script from its first line to its last, in this process."""

    def run_(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        runpy.run_path(str(SCRIPT), run_name="__main__")

    return run_


def test_it_prints_strides_and_panels(run, capsys):
    run("--mib", "8", "--size", "64")
    said = capsys.readouterr().out
    rows = re.findall(r"stride +(\d+): +([\d.]+) ns a number, x([\d.]+); by whole lines x([\d.]+)", said)
    assert [int(row[0]) for row in rows] == [1, 2, 4, 8, 16, 32, 64]
    if not torch.cuda.is_available():
        assert [float(row[3]) for row in rows] == [1.0, 1.5, 2.5, 4.5, 8.5, 8.5, 8.5]
    first = float(rows[0][1])
    for _, nanoseconds, factor, _ in rows:
        assert float(factor) == pytest.approx(float(nanoseconds) / first, abs=0.06 + 0.002 * float(factor) / first)
    wide = re.findall(r"panels +(\d+) wide: +([\d.]+) FLOP/B", said)
    assert [(int(w), float(i)) for w, i in wide] == [(1, 0.25), (4, 1), (16, 4), (64, 16)]


@pytest.mark.parametrize("width", [1, 3, 16, 64])
def test_panels_add_up_to_the_product(width):
    names = runpy.run_path(str(SCRIPT))
    a, b = (torch.randint(-4, 5, (48, 48)).float() for _ in range(2))
    c = torch.full((48, 48), 7.0)
    names["panels"](48, width, a, b, c)
    assert torch.equal(c, a @ b)


def test_bad_sizes_are_refused(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("--mib", "0")
    assert "are 1 or more, got 0" in capsys.readouterr().err
