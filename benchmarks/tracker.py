"""What watching a training step costs: our tracker, an empty dispatch mode, torch's MemTracker and its profiler. Chapter: training-memory.

    python -m benchmarks.tracker [--rounds 15] [--widths 64 256 512]

nn.TransformerEncoder of six layers and Adam, on one thread. Round by round a plain step and a watched one in turn, each timed in
CPU seconds of the process; the median of the rounds' ratios, and of their differences.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from statistics import median

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.measure import track

from .samples import at_least

BATCHES = {64: (1, 16), 256: (4, 128), 512: (4, 128)}  # width: batch, tokens
CEILING = 1.15  # for our tracker at width 256


class Step:
    """A training step of a six-layer transformer."""

    def __init__(self, width: int) -> None:
        batch, seq = BATCHES.get(width, (4, 128))
        self.model = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True), 6)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.batch = torch.rand(batch, seq, width)

    def __call__(self) -> None:
        self.model(self.batch).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def ours(step: Step) -> AbstractContextManager:
    return track(step.model, step.optimizer, step.batch)


@contextmanager
def mem_tracker(step: Step):
    """torch.distributed._tools: private, the nearest thing that torch has."""
    from torch.distributed._tools.mem_tracker import MemTracker  # brings torch's compiler along: two seconds

    tracker = MemTracker()
    tracker.track_external(step.model, step.optimizer, step.batch)
    with tracker:
        yield tracker


class Empty(TorchDispatchMode):
    """A dispatch mode that does nothing: what any tracker that sees every operator from Python pays to torch."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **kwargs) if kwargs else func(*args)


def empty_mode(_step: Step) -> AbstractContextManager:
    return Empty()


def profiler(_step: Step) -> AbstractContextManager:
    return profile(activities=[ProfilerActivity.CPU], profile_memory=True)


WATCHERS = {"track": ours, "empty mode": empty_mode, "MemTracker": mem_tracker, "profiler": profiler}


def seconds(step: Step) -> float:
    """CPU seconds of one step."""
    gc.collect()
    start = time.process_time()
    step()
    return time.process_time() - start


def measure(step: Step, watcher: Callable[[Step], AbstractContextManager], rounds: int) -> tuple[float, float]:
    """(median of watched / plain, median of watched - plain in seconds); entering and leaving are not timed."""
    pairs = []
    for _ in range(rounds):
        plain = seconds(step)
        with watcher(step):
            watched = seconds(step)
        pairs.append((watched / plain, watched - plain))
    return median(ratio for ratio, _ in pairs), median(more for _, more in pairs)


def main(widths: list[int], rounds: int = 15) -> None:
    """Measure and print. ValueError on bad input, before anything runs."""
    at_least("rounds", rounds, 1)
    for width in widths:
        if width < 8 or width % 8:
            raise ValueError(f"widths are multiples of the 8 heads, got {width}")
    torch.set_num_threads(1)
    print(f"six layers, Adam, one thread; torch {torch.__version__}; medians of {rounds} rounds")
    for width in widths:
        step = Step(width)
        step()
        print(
            f"width {width}, {step.batch.shape[0]} x {step.batch.shape[1]} tokens: a plain step {seconds(step) * 1e3:.0f} ms"
        )
        for name, watcher in WATCHERS.items():
            ratio, more = measure(step, watcher, rounds)
            asked = f" (asked for: {CEILING})" if name == "track" and width == 256 else ""
            print(f"  {name:<12}{ratio:6.2f}x {more * 1e3:+8.1f} ms{asked}")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracker", description=__doc__.partition("\n")[0])
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 256, 512])
    parser.add_argument("--rounds", type=int, default=15)
    return parser.parse_args(given)


if __name__ == "__main__":
    main(**vars(arguments()))
