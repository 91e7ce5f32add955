"""scripts/too-big.py: its peak is the tracker's, and the second step's peak is not lower than the first's."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn
from torchrun import python, sound

from helpers.measure import track

SCRIPT = Path(__file__).parents[2] / "scripts" / "too-big.py"
SIZES = {"layers": 3, "hidden": 512, "heads": 8, "ffn": 2048, "tokens": 4096}


def run(**options):
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    done = sound(python("too-big.py", *words))
    return [float(peak) for peak in re.findall(r"peak ([\d.]+) GiB", done.stdout)]


def test_its_peak_is_the_trackers():
    layers = (nn.TransformerEncoderLayer(512, 8, 2048, 0.0, device="meta") for _ in range(3))
    model = nn.Sequential(*layers)
    adam, x = torch.optim.AdamW(model.parameters(), foreach=False), torch.empty(4096, 1, 512, device="meta")
    with track(model, adam, x, devices=("meta",)) as watch:
        for _ in range(2):
            model(x).sum().backward()
            adam.step()
            adam.zero_grad()
    peaks = run(**SIZES)
    assert len(peaks) == 2 and peaks[1] >= peaks[0]
    assert peaks[1] == pytest.approx(watch.trace.rounded(512).peak.nbytes / 2**30, abs=0.006)


def test_it_counts_a_model_that_fits_nowhere():
    peak = run(layers=2, hidden=65536, heads=512, ffn=262144, tokens=16, steps=1)[0]
    assert peak > 1500
