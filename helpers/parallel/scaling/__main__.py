"""python -m helpers.parallel.scaling: both tables, on 1, 2 and 4 Gloo ranks, recorded. Chapters: data-parallel, meshes.

Upper: the small transformer under each strategy, seconds, tokens a second, MFU and HFU. Ranks share this machine's cores, so the label
says how many, and no way is faster than another by this table. Lower: layers that sleep instead of computing, over an emulated
link; there a rank has all it needs, and strong, weak and Amdahl's share are those of the way. `--show` measures and writes nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import asdict

from helpers.ledger.scaling import Scaling
from helpers.ranks import Ranks
from helpers.ranks.recorded import load, record
from helpers.units import seconds_text

from .clocked import CLOCKED, Clocked, clocked, peak_of_one, runnable
from .emulated import KINDS, LINK, WAYS, Emulated, emulated

NAME, COMMAND = "strategies-time-cpu", "python -m helpers.parallel.scaling"
COUNTS, TIMEOUT, LIMIT = (1, 2, 4), 120.0, 400.0


def main(argv: list[str] | None = None) -> int:
    """Exit code 0."""
    parser = argparse.ArgumentParser(COMMAND, description=__doc__.partition("\n")[0])
    parser.add_argument("--show", action="store_true", help="print the recorded tables, start no rank")
    if parser.parse_args(argv).show:
        return _show()
    peak, rows, left_out = _clocked()
    _print_clocked(rows, left_out)
    slept = _emulated()
    _print_emulated(slept)
    data = {
        "peak": peak,
        "clocked": [row._asdict() for row in rows],
        "left_out": left_out,
        "emulated": list(map(asdict, slept)),
    }
    record(NAME, data, COMMAND, f"{max(COUNTS)} ranks on {os.cpu_count()} cores, gloo, CPU")
    return 0


def _show() -> int:
    run = load(NAME)
    print(run)
    _print_clocked([Clocked(**row) for row in run.data["clocked"]], run.data["left_out"])
    _print_emulated([Emulated(**_numbered(row)) for row in run.data["emulated"]])
    return 0


def _clocked() -> tuple[float, list[Clocked], dict[str, str]]:
    peak, rows, left_out = 0.0, [], {}
    for nranks in COUNTS:
        with Ranks(nranks, backend="gloo", timeout=TIMEOUT) as ranks:
            peak = peak or ranks.run(peak_of_one)[0]
            for name, why in runnable(nranks).items():
                if why:
                    left_out[f"{name} on {nranks}"] = why
                else:
                    rows.append(clocked(name, _long(ranks), nranks, peak))
    return peak, rows, left_out


def _emulated() -> list[Emulated]:
    with contextlib.ExitStack() as stack:
        pools = {n: stack.enter_context(Ranks(n, backend="gloo", link=LINK, timeout=TIMEOUT)) for n in COUNTS if n > 1}
        calls = {n: _long(ranks) for n, ranks in pools.items()}
        return [emulated(way, kind, calls) for way in WAYS for kind in KINDS]


def _long(ranks: Ranks) -> Callable[..., list]:
    return lambda fn, *args: ranks.run(fn, *args, limit=LIMIT)


def _numbered(row: dict) -> dict:
    """JSON's keys are texts."""
    return row | {part: {int(n): seconds for n, seconds in row[part].items()} for part in ("seconds", "paper")}


def _print_clocked(rows: list[Clocked], left_out: dict[str, str]) -> None:
    width = max(map(len, CLOCKED)) + 1
    print(f"{'strategy':<{width}}{'ranks':>6}{'a step':>10}{'tokens/s':>10}{'MFU':>8}{'HFU':>8}")
    for row in rows:
        numbers = f"{row.tokens_per_second:>10,.0f}{row.mfu:>8.1%}{row.hfu:>8.1%}"
        print(f"{row.name:<{width}}{row.nranks:>6}{seconds_text(row.seconds):>10}{numbers}")
    for name, why in left_out.items():
        print(f"left out: {name}: {why}")


def _print_emulated(found: list[Emulated]) -> None:
    print(
        f"\n{'emulated':<20}{'kind':>8}{'T(2)':>10}{'T(4)':>10}{'efficiency':>12}{'paper':>8}{'serial':>8}{'paper':>8}{'hidden':>8}{'paper':>8}"
    )
    for one in found:
        times = "".join(f"{seconds_text(seconds):>10}" for n, seconds in one.seconds.items() if n > 1)
        strong = one.kind == "strong"
        serial = [f"{Scaling(times).serial:.1%}" if strong else "-" for times in (one.seconds, one.paper)]
        shares = f"{one.efficiency:>12.1%}{one.efficiency_paper:>8.1%}{serial[0]:>8}{serial[1]:>8}"
        print(f"{one.way:<20}{one.kind:>8}{times}{shares}{one.hidden:>8.0%}{one.hidden_paper:>8.0%}")


if __name__ == "__main__":
    sys.exit(main())
