"""How close an emulated network comes to the model: measured over priced, for messages and all_reduce. Chapter: latency-bandwidth.

    python -m benchmarks.emulator [alpha in ms] [bandwidth in MB/s]

4 ranks on this machine, by default 5 ms and 100 MB/s. The least of 5 repetitions and, in brackets, the median; 1.000 is the model's own,
by the step-locked rule. Every all_reduce of the catalogue that needs no switch. The pipelined trees stray from 1, since several of
their messages meet at one port: the model serves them in the order of their steps, and the network in the order in which they come.
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE, Schedule, price
from helpers.facts import Link
from helpers.ranks import Ranks, Timing, bench, execute, fit_link
from helpers.ranks.timing.timing import shift
from helpers.units import KIB, MIB, Bandwidth, nbytes_text

NRANKS, REPS = 4, 5
SIZES = (KIB, 16 * KIB, 128 * KIB, MIB, 4 * MIB)


def schedules() -> dict[str, Schedule]:
    """Every all_reduce that needs no switch, by name."""
    built = {name: build(nranks=NRANKS) for (kind, name), build in CATALOGUE.items() if kind == "all_reduce"}
    return {name: s for name, s in built.items() if not s.nswitches}


def measure(sizes: tuple[int, ...]) -> dict[str, list[Timing]]:
    """Inside ranks: what is measured, by its name, at every size."""
    found = {"message": [], "dist.all_reduce": [], **{name: [] for name in schedules()}}
    for nbytes in sizes:
        x, y = torch.zeros(nbytes // 4), torch.zeros(nbytes // 4)
        found["message"].append(bench(shift, x, y, warmup=1, reps=REPS))
        found["dist.all_reduce"].append(bench(dist.all_reduce, x, warmup=1, reps=REPS))
        for name, s in schedules().items():
            found[name].append(bench(execute, s, x, x, warmup=1, reps=REPS))
    return found


def priced(name: str, nbytes: int, link: Link) -> float:
    """Seconds by the model; dist.all_reduce is played by ring."""
    if name == "message":
        return link.seconds(nbytes)
    algorithm = "ring" if name == "dist.all_reduce" else name
    return price(CATALOGUE["all_reduce", algorithm](nranks=NRANKS), nbytes, link).seconds


def main(milliseconds: float = 5.0, megabytes: float = 100.0) -> None:
    """Measure and print."""
    link = Link(milliseconds / 1e3, Bandwidth(megabytes * 1e6, "one way", "GPU", "fitted"))
    with Ranks(NRANKS, backend="gloo", link=link) as ranks:
        print(f"{ranks.label}; {os.cpu_count()} cores; torch {torch.__version__}; measured / priced, least (median)")
        found = ranks.run(measure, SIZES)[0]
        fitted = fit_link(ranks, sizes=SIZES)
    print("".join(text.ljust(20) for text in ("", *map(nbytes_text, SIZES))).rstrip())
    for name, timings in found.items():
        models = [priced(name, nbytes, link) for nbytes in SIZES]
        cells = [f"{t.min / m:.3f} ({t.median / m:.3f})" for t, m in zip(timings, models, strict=True)]
        print("".join(text.ljust(20) for text in (name, *cells)).rstrip())
    print(f"fit_link / set: alpha {fitted.alpha / link.alpha:.3f}, beta {fitted.beta / link.beta:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.emulator", description=__doc__.partition("\n")[0])
    parser.add_argument("milliseconds", nargs="?", type=float, default=5.0, help="alpha (5)")
    parser.add_argument("megabytes", nargs="?", type=float, default=100.0, help="of bandwidth, a second (100)")
    main(**vars(parser.parse_args()))
