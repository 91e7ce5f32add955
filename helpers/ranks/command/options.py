"""The options of `python -m helpers.ranks`, and what each means. Chapters: primitives, benchmarking."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from helpers.facts import MODELS
from helpers.ranks.play.traces import TRACES
from helpers.ranks.sweeping import settings
from helpers.ranks.timing import columns
from helpers.units import UnitError, parse_nbytes

BENCH = """
Columns are nccl-tests': size, count, time, algbw, busbw (both count one way), and elements that are wrong.

    python -m helpers.ranks bench all_reduce all_gather -b 1K -e 1G -f 2
    torchrun --nproc-per-node 8 -m helpers.ranks bench -e 1G --json > run.json

NCCL's settings, each combination in fresh ranks, and what NCCL's log says that it took (NVIDIA GPUs only):

    python -m helpers.ranks bench all_reduce --sweep algo=Ring,NVLS proto=LL,LL128,Simple channels=8,auto -e 1G
    python -m helpers.ranks bench all_reduce --sweep proto=LL,Simple --one-gpu          two ranks on one GPU: not timed

Which sizes a model's training step sends; one process for all GPUs beside a process a GPU; several machines over ssh:

    python -m helpers.ranks bench --payload Llama-3-8B --tokens 4096
    python -m helpers.ranks bench all_reduce --one-process -e 64M
    python -m helpers.ranks bench --hosts node1,node2 --per-host 8 -e 1G                (--print shows the lines and runs nothing)
"""


class Parser(argparse.ArgumentParser):
    """One line for a bad option; --help has the rest."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"helpers.ranks: {message} (--help says more)\n")


def parser(doc: str) -> argparse.ArgumentParser:
    """doc: of the command's module, whose first paragraph describes it and whose rest are examples."""
    intro, examples = doc.split("\n\n", 1)
    made = Parser(
        prog="python -m helpers.ranks",
        description=intro.partition(": ")[2].removesuffix(" Chapter: primitives."),
        epilog=examples,
        parents=[_common()],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(what="show", ranks=None, backend=None, root=0, timeout=10.0)
    commands = made.add_subparsers(title="also")
    shape = argparse.RawDescriptionHelpFormatter
    bench = commands.add_parser(
        "bench", help="nccl-tests' columns", parents=[_common()], epilog=BENCH, formatter_class=shape
    )
    _bench_options(bench)
    _more_options(bench)
    record = commands.add_parser("record", help="the book's traces, measured again and written under recorded/")
    record.set_defaults(what="record")
    record.add_argument("names", nargs="*", metavar="trace", help=f"of {', '.join(TRACES)} (default all)")
    return made


def _common() -> argparse.ArgumentParser:
    """Options that may stand before `bench` or after it: no defaults here, or the second place would reset the first."""
    common = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("-n", "--ranks", type=count, help="how many to start (default: all GPUs, or 4 on the CPU)")
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
    bench.add_argument("-b", "--begin", type=size, default=size("1K"), help="first size: 8, 1K, 64M, 1G (default 1K)")
    bench.add_argument("-e", "--end", type=size, default=size("16M"), help="last size (default 16M)")
    bench.add_argument("-f", "--factor", type=count, default=4, help="from one size to the next (default 4)")
    bench.add_argument("-i", "--iters", type=count, help="repetitions (default 20 up to 1M, 5 beyond)")
    bench.add_argument("-w", "--warmup", type=int, default=2, help="calls before the first that is timed (default 2)")
    bench.add_argument(
        "-a", "--algorithm", help="a schedule of the catalogue over send and recv, such as ring (default: torch's own)"
    )
    bench.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def _more_options(bench: argparse.ArgumentParser) -> None:
    """The other things to do: at most one of them."""
    nccl = bench.add_argument_group("NCCL's settings, on NVIDIA GPUs")
    nccl.add_argument(
        "--sweep",
        nargs="+",
        metavar="NAME=A,B",
        help=f"algo of {', '.join(settings.ALGORITHMS)}; proto of LL, LL128, Simple; channels; or {settings.OWN}",
    )
    nccl.add_argument(
        "--one-gpu", action="store_true", help="with --sweep: ranks share the first GPU, nothing is timed"
    )
    nccl.add_argument("--one-process", action="store_true", help="one process for all GPUs, beside a process a GPU")
    step = bench.add_argument_group("what a training step sends, without timing")
    step.add_argument("--payload", metavar="MODEL", help=f"of {', '.join(MODELS)}")
    step.add_argument("--batch", type=count, help="sequences of a micro-batch (default 1)")
    step.add_argument("--tokens", type=count, help="of a sequence (default: the model's context)")
    hosts = bench.add_argument_group("several machines, by torchrun over ssh")
    hosts.add_argument("--hosts", metavar="A,B", help="their names; on the first is rank 0")
    hosts.add_argument("--per-host", type=count, help="ranks on each (default 8)")
    hosts.add_argument("--port", type=count, help="where the ranks meet (default 29500)")
    hosts.add_argument("--print", action="store_true", help="print a line a host, and run nothing")


def count(text: str) -> int:
    """A whole number above 0."""
    if not re.fullmatch(r"[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"a whole number above 0, got {text!r}")
    return int(text)


def size(text: str) -> int:
    """As nccl-tests reads sizes: K, M and G are powers of 1024."""
    short = re.fullmatch(r"(\d+)([KMG])", text.upper())
    try:
        return parse_nbytes(f"{short[1]} {short[2]}iB" if short else text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(f"a size looks like 512, 1K or 64M, got {text!r}") from error
