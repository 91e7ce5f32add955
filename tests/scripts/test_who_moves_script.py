"""scripts/who-moves.py: what is put arrives whole, as what is sent does; on GPUs it is the calls of symmetric memory, in their order."""

import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from torchrun import sound, torchrun

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("nranks", [2, 3])
def test_both_ways_deliver_whole(nranks):
    done = sound(torchrun("who-moves.py", nranks))
    rows = re.findall(r"rank (\d): (put and signal|send and receive), (\d) after (\d+) us, whole", done.stdout)
    assert sorted(rank + name[0] for rank, name, *_ in rows) == [f"{r}{way}" for r in range(nranks) for way in "ps"]
    assert all(int(got) == (int(rank) - 1) % nranks and int(took) > 0 for rank, _, got, took in rows)
    assert "TORN" not in done.stdout


def test_one_rank_is_told_why_not():
    done = torchrun("who-moves.py", 1)
    assert done.returncode != 0 and "a put wants two ranks: 1 rank" in done.stderr


def test_on_gpus_every_part_is_a_peer_s_buffer(monkeypatch):
    """What torch 2.13 documents: empty, rendezvous with the group, get_buffer(rank, sizes, dtype), put_signal and wait_signal."""
    window = runpy.run_path(str(ROOT / "scripts/who-moves.py"))["window"]
    asked = []
    handle = SimpleNamespace(
        get_buffer=lambda rank, sizes, dtype: asked.append((rank, sizes, dtype)) or torch.empty(1),
        put_signal=lambda dst: asked.append(("signal", dst)),
        wait_signal=lambda src: asked.append(("wait", src)),
    )
    fake = SimpleNamespace(empty=lambda numel, device: (numel, device.type), rendezvous=lambda memory, group: handle)
    monkeypatch.setitem(window.__globals__, "symm_mem", fake)
    monkeypatch.setattr(dist, "group", SimpleNamespace(WORLD="all"))
    parts, signal, wait = window(0, 2, SimpleNamespace(type="cuda"), 64)
    signal(1)
    wait(1)
    assert len(parts) == 2 and asked == [(r, (64,), torch.float32) for r in (0, 1)] + [("signal", 1), ("wait", 1)]
