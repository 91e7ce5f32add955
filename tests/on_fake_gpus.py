"""What a machine with GPUs does, for test_fake_cuda: run in a process that has two fake ones; prints everything as one JSON object."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time

import torch
import torch.distributed as dist

from helpers.measure import find_device, play, profile_step
from helpers.measure.bandwidth.ladder_gpu import climb_gpu
from helpers.measure.bandwidth.stopwatch import _replayed
from helpers.measure.bandwidth.transfers import transfers
from helpers.memory import Sample
from helpers.memory.allocator import program, replay
from helpers.memory.snapshot import compare
from helpers.ranks import Ranks, bench, recorded
from helpers.ranks.machine.devices import plan
from helpers.ranks.play import stamps
from helpers.ranks.timing import timing
from helpers.ranks.timing.apart import apart
from helpers.units import MIB


def planned() -> dict:
    """World by world; the fake asks for its number every time."""
    found, before = {}, os.environ["FAKE_CUDA_GPUS"]
    for gpus in (0, 1, 2, 8):
        os.environ["FAKE_CUDA_GPUS"] = str(gpus)
        worlds = {n: plan(n) for n in (None, 1, 2, 8)}
        found[gpus] = {str(n): [world.label, world.devices[-1]] for n, world in worlds.items()}
        with contextlib.suppress(ValueError):
            found[gpus]["two by nccl"] = plan(2, "nccl").label
    os.environ["FAKE_CUDA_GPUS"] = before
    return found


def mixed() -> str:
    try:
        torch.ones(4, device="cuda:0") + torch.ones(4)
    except RuntimeError as error:
        return str(error)
    return ""


def graphed() -> list[int]:
    """How often a call on each of two GPUs is done when its graph is played three times."""
    found = []
    for device in (0, 1):
        with torch.cuda.device(device):
            x = torch.zeros(1, device=f"cuda:{device}")
            play = _replayed(lambda x=x: x.add_(1), 1)
            before = x.item()
            found.append(int([play(), play(), play(), x.item()][-1] - before))
    return found


def woken() -> list[int]:
    """Sides of the matrices that were multiplied before the ladder's first rung, and bare kernels that were timed."""
    sides, real = set(), torch.mm
    torch.mm = lambda a, b: (sides.add(len(a)), real(a, b))[1]
    climb_gpu([1 << 20, 2 << 20], torch.device("cuda:0"), 0.01)
    torch.mm = real
    return sorted(sides)


def ping() -> None:
    """One message there and back, outside a batch."""
    ball, rank = torch.zeros(4), dist.get_rank()
    for src in (0, 1):
        (dist.send if rank == src else dist.recv)(ball, 1 - rank)


def pong() -> float:
    """1.0 when the other rank read its clock after the ball had come, which is late."""
    ball = torch.zeros(1, dtype=torch.float64)
    if dist.get_rank():
        stamps._pong(lambda: float(torch.cuda.current_stream().query()))
        return 1.0
    time.sleep(0.3)
    dist.send(ball, 1)
    dist.recv(ball, 1)
    return ball.item()


def ahead() -> list[bool]:
    """Was the GPU still busy with what came before, when a timed call began?"""
    timing.AHEAD, found = 75_000_000, []
    bench(lambda: found.append(not torch.cuda.current_stream().query()), warmup=0, reps=3)
    return found


def given_away() -> list[float]:
    """Seconds of a call in a row, of one alone, and until one is given away; every wait is for the GPU, not for the call."""
    found = apart(4096, 4, 3)
    return [found.row.min, found.alone.min, found.given.min]


def shuffled() -> list[int]:
    """A DataLoader's order, which a CPU's generator makes; and a tensor beside it, where nobody asked."""
    assert torch.ones(1).device.type == "cuda" and torch.rand(1, generator=torch.Generator()).device.type == "cpu"
    return sorted(x.item() for x in torch.utils.data.DataLoader(range(4), shuffle=True))


def settings() -> list[str | None]:
    return [os.environ.get(name) for name in ("CUDA_DEVICE_ORDER", "PYTORCH_ALLOC_CONF")]


def copied() -> list[list[str]]:
    """Ways of a copy between host and GPU."""
    return [[row.way, row.host] for row in transfers("cuda:0", [1 << 16], 3)]


def stamped() -> list[float]:
    """Seconds after a look at the clock at which two stamps lie on the host's."""
    watch, before = stamps.StreamWatch(), time.monotonic()
    marks = [watch.now() for _ in range(2)]
    return [watch.seconds(mark) - before for mark in marks]


def in_ranks() -> dict:
    """On two GPUs. The fork server is started before the settings are made."""
    with Ranks(2, backend="nccl") as ranks:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            ranks.run(ping)
        found = {fn.__name__: ranks.run(fn)[0] for fn in (pong, ahead, given_away, shuffled)}
    os.environ |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
    with Ranks(2, backend="nccl") as ranks:
        return found | {"said": said.getvalue(), "settings": ranks.run(settings)[0]}


PROGRAM = "a = 11 MiB; b = 11 MiB; del a; c = 20 MiB"


def played() -> dict:
    """A program asked of the GPU's allocator: with room, after a retry, out of memory, and while something else is there."""
    found = {"device": str(find_device()), "names": [find_device().record_of("ladder"), recorded.shown()]}
    for limit in (None, 34, 30):
        trace, most = program(PROGRAM), limit and limit * MIB
        real, model = play(trace, most), replay(trace, limit=most, raises=False)
        now = real.counts
        told = [real.events, bool(real.oom), now.peak_reserved // MIB, now.segments, now.retries, now.ooms]
        found[str(limit)] = [*told, now.free == model.measure(), bool(compare(model, real.snapshot))]
    held = torch.ones(4, device="cuda")
    try:
        play(trace)
    except RuntimeError as error:
        found["refused"] = str(error)
    del held
    return found


def profiled() -> dict:
    """A step on the GPU: what its allocator said meanwhile, and what it counted."""
    said: list[Sample] = []
    small = {"layers": 1, "width": 64, "heads": 4, "ffn": 128, "batch": 2, "seq": 16}
    trace = profile_step(device="cuda", on_sample=said.append, **small).trace
    held, ends = trace.about["allocator"], [sample.event for sample in said]
    marks = {index for index, _, _ in trace.marks}
    return {
        "samples": [tuple(said) == trace.samples, marks <= set(ends), ends == sorted(ends)],
        "covers": [held["peak_allocated"] >= max(s.allocated for s in said), held["requested"] == int(trace.total[-1])],
        "gpu": trace.about["gpu"],
    }


ASKED = (played, profiled, planned, in_ranks, mixed, graphed, woken, copied, stamped)

if __name__ == "__main__":
    found = {fn.__name__: fn() for fn in ASKED if fn.__name__ in (sys.argv[1:] or [fn.__name__])}
    print(json.dumps(found))
