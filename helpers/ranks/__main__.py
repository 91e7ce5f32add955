"""python -m helpers.ranks: the ten primitives on real ranks, before and after; with `bench`, nccl-tests' columns. Chapter: primitives.

Alone it starts ranks of its own; under torchrun or srun it is one of theirs, and rank 0 prints:

    python -m helpers.ranks                                     torchrun --nproc-per-node 4 -m helpers.ranks
    python -m helpers.ranks bench all_reduce -b 1K -e 64M       torchrun --nproc-per-node 4 -m helpers.ranks bench -e 64M

More of `bench` (NCCL's settings, one process or many, payloads, several hosts) says python -m helpers.ranks bench --help.
The book's traces of real runs (recorded/trace-*.json), measured again on this machine, all or those that are named:

    python -m helpers.ranks record                              python -m helpers.ranks record trace-ring-cpu
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator

from helpers.ranks.command import hosts, payload, sweeps, tables
from helpers.ranks.command.options import parser
from helpers.ranks.command.tables import Call
from helpers.ranks.hangs.verdict import RankError
from helpers.ranks.machine.devices import plan
from helpers.ranks.machine.launched import launched
from helpers.ranks.play.traces import record_traces
from helpers.ranks.pool.ranks import Ranks
from helpers.ranks.timing import columns
from helpers.ranks.worker.jobs import job

from . import primitives

ALONE = ("sweep", "one_process", "payload", "hosts")  # of bench: each a thing of its own
LAST_PORT = 65535
OWNED = {"sweep": ("one_gpu",), "hosts": ("print", "per_host", "port"), "payload": ("tokens", "batch")}


def main(argv: list[str] | None = None) -> int:
    """Exit code: 0, 1 when a number is wrong or a rank fails, 2 for options that make no sense (told before anything starts)."""
    options = parser(__doc__).parse_args(argv)
    try:
        if options.what == "record":
            return _record(options.names)
        if options.what == "bench" and (other := _other(options)) is not None:
            return other
        _check(options, nranks := _nranks(options))
        with _ranks(options) as (call, label, prints):
            say = print if prints else _silent
            if options.what == "show":
                return _show(options, call, nranks, label, say)
            return tables.run(options, call, nranks, label, say)
    except RankError as error:
        print(f"RankError: {error}", file=sys.stderr)
        return 1
    except (ValueError, TypeError) as error:
        print(f"helpers.ranks: {error}", file=sys.stderr)
        return 2


def _other(options: argparse.Namespace) -> int | None:
    """The exit code of what is asked for instead of a plain bench; None where nothing is."""
    asked = [name for name in ALONE if getattr(options, name)]
    _agree(options, asked)
    if not asked:
        return None
    if place := launched():
        raise ValueError(
            f"--{asked[0].replace('_', '-')} starts what it needs by itself: run it alone, this is {place}"
        )
    if options.payload:
        return payload.run(options)
    if options.hosts:
        return _on_hosts(options)
    return sweeps.run(options) if options.sweep else sweeps.processes(options)


def _agree(options: argparse.Namespace, asked: list[str]) -> None:
    """Raises ValueError for two things at once, and for an option of one of them without it."""
    if len(asked) > 1:
        raise ValueError(f"one at a time, got {' and '.join('--' + name.replace('_', '-') for name in asked)}")
    for owner, owned in OWNED.items():
        for option in owned:
            if getattr(options, option) and owner not in asked:
                raise ValueError(f"--{option.replace('_', '-')} goes with --{owner}")
    if options.algorithm and set(asked) & {"sweep", "one_process"}:
        raise ValueError(
            f"--{asked[0].replace('_', '-')} is of NCCL's own algorithms: leave -a {options.algorithm} out"
        )
    if options.root and set(asked) & {"sweep", "one_process"}:
        raise ValueError(f"--{asked[0].replace('_', '-')} has rank 0 as its root: leave -r {options.root} out")


def _on_hosts(options: argparse.Namespace) -> int:
    names = hosts.hosts(options.hosts)
    if options.ranks or options.backend:
        raise ValueError(
            "with --hosts say --per-host, and leave -n and --backend out: torchrun says how many there are"
        )
    per_host, port = options.per_host or 8, options.port or 29500
    if port > LAST_PORT:
        raise ValueError(f"a port lies in 1..{LAST_PORT}, got {port}")
    nranks = len(names) * per_host
    _check(options, nranks)
    lines = hosts.lines(names, per_host, port, hosts.arguments(options))
    if options.print:
        print(*(f"# {name}\n{line}" for name, line in zip(names, lines, strict=True)), sep="\n")
        return 0
    return hosts.run(names, lines)


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


def _record(names: list[str]) -> int:
    if place := launched():
        raise ValueError(f"record starts ranks of its own, 4 on the CPU: run it alone, this is {place}")
    for line in record_traces(names):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
