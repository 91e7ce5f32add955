"""python -m helpers.ranks: the ten primitives on real ranks, before and after; with `bench`, nccl-tests' columns. Chapter: primitives.

Alone it starts ranks of its own; under torchrun or srun it is one of theirs, and rank 0 prints:

    python -m helpers.ranks                                     torchrun --nproc-per-node 4 -m helpers.ranks
    python -m helpers.ranks bench all_reduce -b 1K -e 64M       torchrun --nproc-per-node 4 -m helpers.ranks bench -e 64M

The book's traces of real runs (recorded/trace-*.json), measured again on this machine, all or those that are named:

    python -m helpers.ranks record                              python -m helpers.ranks record trace-ring-cpu
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from helpers.ranks.hangs.verdict import RankError
from helpers.ranks.machine.devices import plan
from helpers.ranks.machine.launched import launched
from helpers.ranks.play.traces import TRACES, record_traces
from helpers.ranks.pool.ranks import Ranks
from helpers.ranks.timing import columns
from helpers.ranks.worker.jobs import job
from helpers.units import UnitError, parse_nbytes

from . import primitives

Call = Callable[..., Any]  # call(fn, *args) runs fn on every rank and answers what rank 0 returned


def main(argv: list[str] | None = None) -> int:
    """Exit code: 0, 1 when a number is wrong or a rank fails, 2 for options that make no sense (told before anything starts)."""
    options = _parser().parse_args(argv)
    try:
        if options.what == "record":
            return _record(options.names)
        _check(options, nranks := _nranks(options))
        with _ranks(options) as (call, label, prints):
            say = print if prints else _silent
            return (_bench if options.what == "bench" else _show)(options, call, nranks, label, say)
    except RankError as error:
        print(f"RankError: {error}", file=sys.stderr)
        return 1
    except (ValueError, TypeError) as error:
        print(f"helpers.ranks: {error}", file=sys.stderr)
        return 2


def _nranks(options: argparse.Namespace) -> int:
    place = launched()
    if place and (options.ranks or options.backend):
        raise ValueError(
            f"this is {place}, which says how many there are, and job() says on what: leave -n and --backend out"
        )
    return place.nranks if place else plan(options.ranks, options.backend).nranks


def _check(options: argparse.Namespace, nranks: int) -> None:
    if nranks < 2:
        raise ValueError(f"a collective takes at least 2 ranks, these are {nranks}: say -n 4")
    if not 0 <= options.root < nranks:
        raise ValueError(f"the root is a rank in 0..{nranks - 1}, got {options.root}")
    if options.what == "bench":
        columns.sizes(options.begin, options.end, options.factor, nranks)
        for collective in options.collectives:
            columns.known(collective, options.algorithm)


@contextlib.contextmanager
def _ranks(options: argparse.Namespace) -> Iterator[tuple[Call, str, bool]]:
    """A way to run a function on every rank, their label, and whether this process prints."""
    if launched():
        with job(options.timeout) as j:
            yield lambda fn, *args: fn(*args), j.label, j.rank == 0
    else:
        with Ranks(options.ranks, backend=options.backend, timeout=options.timeout) as ranks:
            yield lambda fn, *args: ranks.run(fn, *args)[0], ranks.label, True


def _silent(*args: object, **kwargs: object) -> None:
    """What ranks other than 0 say."""


def _show(options: argparse.Namespace, call: Call, nranks: int, label: str, say: Call) -> int:
    moved = call(primitives.gathered, options.root)
    say(f"{label}\n")
    say(primitives.text(moved), end="")
    return int(not all(m.right for rank in moved for m in rank))


def _bench(options: argparse.Namespace, call: Call, nranks: int, label: str, say: Call) -> int:
    sizes = columns.sizes(options.begin, options.end, options.factor, nranks)
    wrong = 0
    for collective in options.collectives:
        say(columns.header(label, f"{collective} by {options.algorithm or 'torch'}"), flush=True)
        lines = []
        for nbytes in sizes:
            lines.append(
                call(
                    columns.measure, collective, nbytes, options.algorithm, options.root, options.warmup, options.iters
                )
            )
            say(columns.row(lines[-1]), flush=True)
        say(columns.footer(lines), flush=True)
        wrong += sum(line.wrong for line in lines)
    return int(wrong > 0)


def _record(names: list[str]) -> int:
    if place := launched():
        raise ValueError(f"record starts ranks of its own, 4 on the CPU: run it alone, this is {place}")
    for line in record_traces(names):
        print(line, flush=True)
    return 0


class _Parser(argparse.ArgumentParser):
    """One line for a bad option; --help has the rest."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"helpers.ranks: {message} (--help says more)\n")


def _parser() -> argparse.ArgumentParser:
    intro, examples = __doc__.split("\n\n", 1)
    parser = _Parser(
        prog="python -m helpers.ranks",
        description=intro.partition(": ")[2].removesuffix(" Chapter: primitives."),
        epilog=examples,
        parents=[_common()],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(what="show", ranks=None, backend=None, root=0, timeout=10.0)
    commands = parser.add_subparsers(title="also")
    _bench_options(commands.add_parser("bench", help="nccl-tests' columns", parents=[_common()]))
    record = commands.add_parser("record", help="the book's traces, measured again and written under recorded/")
    record.set_defaults(what="record")
    record.add_argument("names", nargs="*", metavar="trace", help=f"of {', '.join(TRACES)} (default all)")
    return parser


def _common() -> argparse.ArgumentParser:
    """Options that may stand before `bench` or after it: no defaults here, or the second place would reset the first."""
    common = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("-n", "--ranks", type=_count, help="how many to start (default: all GPUs, or 4 on the CPU)")
    common.add_argument("--backend", choices=("nccl", "gloo"), help="default: by what is here")
    common.add_argument("-r", "--root", type=int, help="the root of the rooted ones (default 0)")
    common.add_argument("--timeout", type=float, help="seconds that a rank may be in one collective (default 10)")
    return common


def _bench_options(bench: argparse.ArgumentParser) -> None:
    bench.set_defaults(what="bench")
    bench.add_argument(
        "collectives",
        nargs="*",
        default=["all_reduce"],
        metavar="collective",
        help=f"of {', '.join(columns.TESTED)} (default all_reduce)",
    )
    bench.add_argument("-b", "--begin", type=_size, default=_size("1K"), help="first size: 8, 1K, 64M, 1G (default 1K)")
    bench.add_argument("-e", "--end", type=_size, default=_size("16M"), help="last size (default 16M)")
    bench.add_argument("-f", "--factor", type=_count, default=4, help="from one size to the next (default 4)")
    bench.add_argument("-i", "--iters", type=_count, help="repetitions (default 20 up to 1M, 5 beyond)")
    bench.add_argument("-w", "--warmup", type=int, default=2, help="calls before the first that is timed (default 2)")
    bench.add_argument(
        "-a", "--algorithm", help="a schedule of the catalogue over send and recv, such as ring (default: torch's own)"
    )


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"a whole number above 0, got {text!r}")
    return int(text)


def _size(text: str) -> int:
    """As nccl-tests reads sizes: K, M and G are powers of 1024."""
    short = re.fullmatch(r"(\d+)([KMG])", text.upper())
    try:
        return parse_nbytes(f"{short[1]} {short[2]}iB" if short else text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(f"a size looks like 512, 1K or 64M, got {text!r}") from error


if __name__ == "__main__":
    sys.exit(main())
