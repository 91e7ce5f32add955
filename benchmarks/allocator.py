"""What a replay through the allocator's model costs, and what it says: predicted steps, fixed and expandable segments. Chapter: allocator.

    python -m benchmarks.allocator [--rounds 5] [--models Llama-2-7B Llama-2-70B]

CPU seconds of the process, the fastest of the rounds; the figure asked for is well under 0.1 s for 14,000 events.
"""

from __future__ import annotations

import argparse
import time

from helpers.facts import MODELS
from helpers.measure import predict_step, profile_step
from helpers.memory import Trace
from helpers.memory.allocator import Replay, replay
from helpers.units import MIB

from .samples import at_least


def fastest(trace: Trace, expandable: bool, rounds: int) -> tuple[float, Replay]:
    """CPU seconds of the fastest replay, and the replay."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        made = replay(trace, expandable)
        seconds.append(time.process_time() - start)
    return min(seconds), made


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.allocator", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--models", nargs="*", choices=list(MODELS), default=["Llama-2-7B", "Llama-2-70B"], metavar="NAME"
    )
    args = parser.parse_args(argv)
    at_least("rounds", args.rounds, 1)
    traces = {"article, 16 x 256": profile_step(batch=16, seq=256, like_cuda=True).trace}
    traces |= {name: predict_step(name, batch=1, seq=4096).trace for name in args.models}
    print(
        f"{'trace':<18} {'segments':<10} {'events':>7} {'ms':>7} {'allocated MiB':>14} {'reserved MiB':>13} {'calls':>6}"
    )
    for name, trace in traces.items():
        for expandable in (False, True):
            seconds, made = fastest(trace, expandable, args.rounds)
            kind = "expandable" if expandable else "fixed"
            peaks = f"{made.peak_allocated / MIB:14,.1f} {made.peak_reserved / MIB:13,.0f}"
            print(f"{name:<18} {kind:<10} {len(trace):7,} {seconds * 1e3:7.1f} {peaks} {made.device_calls:6,}")


if __name__ == "__main__":
    main()
