"""Every schedule of a collective against torch's own call: how many times as fast, by size. Chapter: latency-bandwidth.

    python -m benchmarks.algorithms [collective] [--begin "1 KiB"] [--end "64 MiB"] [--factor 4]
        [--ranks N] [--backend gloo|nccl] [--reps N]

The schedules are played by `execute`. All take turns, call by call, so that a busy moment of the machine falls on all alike. A cell
is torch's time over the schedule's: of the medians and, in brackets, of the least. Above 1 the schedule is faster. Float32, zeros,
in place where torch works in place. By default on all GPUs, or on 4 ranks on the CPU.

Why a tree in Python can beat Gloo's C++ at small sizes: Gloo chooses nothing. Whatever the size, its all_reduce is one ring
(pytorch/gloo, gloo/allreduce.cc: UNSPECIFIED and RING are the same case), and every rank's share of the buffer is cut into at least two
segments, at most 1 MiB each, of which one travels while the other is added. So with P ranks each sends at least 4(P-1) messages,
one after another in pairs, and no fewer for 1 KiB: 12 at P = 4. A binomial tree passes 2 ceil(log2 P) messages in a row,
4 at P = 4, and recursive doubling 2. Where a message costs the same however short it is, fewer of them win; NCCL and MPI choose by
size for that reason. In large buffers bytes decide: both rings move 2(P-1)/P of the buffer, and Gloo's adds while it sends, which
a schedule played step by step does not. The tree moves the whole buffer in every step, and loses. Beside its messages, every step
of `execute` pays for torch's checks in batch_isend_irecv and for a note of what it waits for: about as much again as bare sends cost.
An algorithm marked * needs a switch, which ranks play here: its numbers are right, its times are no switch's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE, PROMISES, Schedule, find_primitive
from helpers.ranks import Ranks, Timing, bench_each, execute
from helpers.ranks.primitives import prepared
from helpers.ranks.timing.columns import ITEM, sizes
from helpers.units import KIB, MIB, nbytes_text, parse_nbytes, seconds_text

from .samples import at_least


def schedules(collective: str, nranks: int) -> dict[str, Schedule]:
    """All of a collective, by name, from rank 0 where there is a root; * after those that need a switch."""
    root = {"root": 0} if PROMISES[collective].rooted else {}
    built = {name: build(nranks=nranks, **root) for (kind, name), build in CATALOGUE.items() if kind == collective}
    return {name + "*" * bool(s.nswitches): s for name, s in built.items()}


def measure(collective: str, nbytes: int, reps: int) -> dict[str, Timing]:
    """Inside ranks: torch's call, under the name "torch", and every schedule's, in turns."""
    nranks, made = dist.get_world_size(), find_primitive(collective)
    whole = torch.zeros(nbytes // ITEM)  # zeros stay zeros however often they are summed
    x = whole.chunk(nranks)[dist.get_rank()].clone() if made.kind == "gathers" else whole
    names, code = prepared(made, x)
    calls = {"torch": partial(eval, code, names)}
    for name, s in schedules(collective, nranks).items():
        calls[name] = _call(s, x)
    return bench_each(calls, warmup=2, reps=reps)


def _call(s: Schedule, x: torch.Tensor) -> Callable[[], object]:
    """In place where torch is: of all_reduce, reduce and broadcast. Else into the same buffer every time, as torch's."""
    given = x.chunk(s.nranks)[0] if s.collective == "scatter" and dist.get_rank() != s.root else x
    whole = s.collective in ("all_reduce", "reduce", "broadcast")
    return partial(execute, s, given, out=x if whole else execute(s, given))


def ratios(found: list[dict[str, Timing]], name: str) -> list[str]:
    """One row: torch's time over this schedule's at every size, medians and least."""
    pairs = [(line["torch"], line[name]) for line in found]
    return [f"{torchs.median / ours.median:.2f} ({torchs.min / ours.min:.2f})" for torchs, ours in pairs]


def table(rows: dict[str, Sequence[str]]) -> str:
    """Names on the left, equal columns."""
    width = max(len(cell) for cells in rows.values() for cell in cells) + 2
    left = max(map(len, rows)) + 1
    return "\n".join(name.ljust(left) + "".join(cell.rjust(width) for cell in cells) for name, cells in rows.items())


def main(
    collective: str = "all_reduce",
    begin: int = KIB,
    end: int = 64 * MIB,
    factor: int = 4,
    ranks: int | None = None,
    backend: str | None = None,
    reps: int | None = None,
) -> None:
    """Measure and print. reps: by default 30 up to 1 MiB and 7 beyond. ValueError for a range without sizes."""
    if collective not in PROMISES:
        raise ValueError(f"collective is one of {', '.join(PROMISES)}, got {collective!r}")
    at_least("reps", 1 if reps is None else reps, 1)
    with Ranks(ranks, backend=backend, timeout=60.0) as team:
        steps = sizes(begin, end, factor, team.nranks)
        print(
            f"{collective} on {team.label}; torch {torch.__version__}; torch's time / the schedule's: medians (least)"
        )
        found = []
        for nbytes in steps:
            found.append(team.run(measure, collective, nbytes, reps or (30 if nbytes <= MIB else 7))[0])
            print(f"{nbytes_text(nbytes)}: torch {seconds_text(found[-1]['torch'].median)}", flush=True)
    rows = {name: ratios(found, name) for name in found[0] if name != "torch"}
    print(table({"": [nbytes_text(nbytes) for nbytes in steps], **rows}))


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """main's own, from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.algorithms", description=__doc__.splitlines()[0])
    parser.add_argument("collective", nargs="?", default="all_reduce")
    parser.add_argument(
        "--begin", type=parse_nbytes, default=KIB, metavar="SIZE", help='such as 64 or "1 KiB" (default)'
    )
    parser.add_argument("--end", type=parse_nbytes, default=64 * MIB, metavar="SIZE", help='such as "64 MiB" (default)')
    parser.add_argument("--factor", type=int, default=4)
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--backend", choices=("gloo", "nccl"))
    parser.add_argument("--reps", type=int)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main(**vars(arguments()))
