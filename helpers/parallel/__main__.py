"""python -m helpers.parallel: every strategy beside single-process training and its formulas. Chapters: data-parallel, sharded.

    python -m helpers.parallel                                  torchrun --nproc-per-node 4 -m helpers.parallel
    python -m helpers.parallel sharded --model transformer      python -m helpers.parallel "data, DDP" --dtype float32

A line tells the largest difference of any loss or parameter; calls and bytes that the busiest rank asked for in all steps, counted and
predicted, and what Gloo makes of them; bytes of states on the fullest rank between backward and step, tracked and predicted.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from helpers.ranks.hangs.verdict import RankError
from helpers.ranks.machine.launched import launched
from helpers.ranks.pool.ranks import Ranks
from helpers.ranks.worker.jobs import job

from .model import MLP, Transformer
from .reference import DTYPES, OPTIMIZERS, Training
from .report import HEADER, laid_out, lines, row
from .strategy import Strategy
from .table import STRATEGIES

MODELS = {"mlp": MLP, "transformer": Transformer}
TYPES = {str(dtype).removeprefix("torch."): dtype for dtype in DTYPES}
TIMEOUT = 120.0  # seconds: a rank's first optimizer imports torch.compile, and a busy machine takes its time


def main(argv: list[str] | None = None) -> int:
    """Exit code: 0; 1 when a line is not as predicted or a rank fails; 2 for what makes no sense, told before anything starts."""
    options = _parser().parse_args(argv)
    try:
        place = launched()
        nranks = place.nranks if place else options.ranks
        chosen = _chosen(options.names)
        told = {one.name: _trained(one, options) for one in chosen}
        left_out = _left_out(chosen, told, nranks, named=bool(options.names))
        with _ranks(nranks) as (call, label, say):
            wrong = _show([one for one in chosen if one.name not in left_out], told, call, label, say)
            for name, why in left_out.items():
                say(f"left out: {name}: {why}")
            return wrong
    except RankError as error:
        print(f"RankError: {error}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"helpers.parallel: {error}", file=sys.stderr)
        return 2


def _chosen(names: list[str]) -> list[Strategy]:
    """Those whose name begins with one of `names`; all where none is given."""
    found = [one for name, one in STRATEGIES.items() if not names or name.startswith(tuple(names))]
    if not found:
        raise ValueError(f"no strategy begins with {' or '.join(names)}: there are {'; '.join(STRATEGIES)}")
    return found


def _trained(strategy: Strategy, options: argparse.Namespace) -> Training:
    """What it trains: its own, but for what the options say."""
    said = {"optimizer": options.optimizer, "batch": options.batch, "steps": options.steps}
    said |= {"model": MODELS[options.model]() if options.model else None, "dtype": TYPES.get(options.dtype)}
    return strategy.training.but(**{name: value for name, value in said.items() if value is not None})


def _left_out(chosen: list[Strategy], told: dict[str, Training], nranks: int, named: bool) -> dict[str, str]:
    """Which of them cannot run on so many ranks, and why. ValueError where that is one that was named, or all."""
    found: dict[str, str] = {}
    for one in chosen:
        try:
            one.predicted(told[one.name], nranks, 0)
        except ValueError as error:
            found[one.name] = str(error)
    if found and (named or len(found) == len(chosen)):
        raise ValueError(next(iter(found.values())))
    return found


@contextlib.contextmanager
def _ranks(nranks: int) -> Iterator[tuple[Callable[..., Any], str, Callable[..., None]]]:
    """A way to run a function on every rank that answers rank 0's result, the ranks' label, and how this process prints."""
    if launched():
        with job(TIMEOUT) as j:
            yield lambda fn, *args: fn(*args), j.label, print if j.rank == 0 else _silent
    else:
        with Ranks(nranks, timeout=TIMEOUT) as ranks:
            yield lambda fn, *args: ranks.run(fn, *args)[0], ranks.label, print


def _silent(*args: object, **kwargs: object) -> None:
    """What ranks other than 0 say."""


def _show(
    chosen: list[Strategy], told: dict[str, Training], call: Callable[..., Any], label: str, say: Callable[..., None]
) -> int:
    width, wrong = max(len(one.name) for one in chosen) + 1, []
    say(f"{label}; bytes of all steps\n\n{laid_out(HEADER, width)}")
    for one in chosen:
        found = call(lines, one, told[one.name])
        say(laid_out(row(one.name, found), width), flush=True)
        wrong += [f"{one.name}, {text}" for rank in found for text in rank.wrong]
    for text in wrong:
        say(text)
    return int(bool(wrong))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m helpers.parallel", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="strategies, by the beginning of their names (default: all)")
    parser.add_argument("-n", "--ranks", type=int, default=4, help="ranks to start (default 4)")
    parser.add_argument("--model", choices=sorted(MODELS))
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS))
    parser.add_argument("--dtype", choices=sorted(TYPES))
    parser.add_argument("--batch", type=int, help="samples of all ranks together")
    parser.add_argument("--steps", type=int)
    return parser


if __name__ == "__main__":
    sys.exit(main())
