"""`sweep`: one collective under several settings of NCCL, each in fresh ranks, read back from its log. Chapters: benchmarking, choosing.

    from helpers.ranks import sweep
    found = sweep("all_reduce", algo=("Ring", "NVLS"), proto=("LL128", "Simple"), begin="1 KiB", end="64 MiB")
    print(found)

NCCL reads its settings once, when a communicator is made, so a process has one combination. LL128 that is named is forced, also where
NCCL would not trust it (its user guide on NCCL_PROTO warns of corrupted data): every row is checked before it is timed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from helpers.meanwhile import Count
from helpers.ranks.hangs.verdict import RankError
from helpers.ranks.machine import sharing
from helpers.ranks.machine.devices import World
from helpers.ranks.pool.ranks import Ranks
from helpers.ranks.sweeping import settings
from helpers.ranks.sweeping.found import Case, Swept, SweptRow
from helpers.ranks.sweeping.places import one_gpu_visible, place
from helpers.ranks.sweeping.readback import LOGGED, Said, read_back, took_effect
from helpers.ranks.sweeping.settings import Asked
from helpers.ranks.timing import columns
from helpers.ranks.timing.timing import weights
from helpers.units import parse_nbytes

Tell = Callable[[int, str], None]  # which row of a combination comes now, and what that is


class Job(NamedTuple):
    """What every combination does. sizes: in bytes."""

    collective: str
    sizes: list[int]
    world: World
    warmup: int
    iters: int | None
    timeout: float


def sweep(
    collective: str = "all_reduce",
    *,
    algo: str | Iterable[str] = (),
    proto: str | Iterable[str] = (),
    channels: int | Iterable[int] = (),
    begin: str | int = "1 KiB",
    end: str | int = "64 MiB",
    factor: int = 4,
    nranks: int | None = None,
    one_gpu: bool = False,
    warmup: int = 2,
    iters: int | None = None,
    timeout: float = 30.0,
) -> Swept:
    """Every `algo` with every `proto` and every number of `channels` (CTAs); what is not named, and "auto", is NCCL's own choice.

    begin, end: of nccl-tests' size, the larger of a rank's input and output. nranks: all GPUs by default. one_gpu: so many ranks (2 by
    default) share the first GPU, and nothing is timed. iters: 20 up to 1 MiB and 5 beyond.
    ValueError, before anything starts, where there is no NVIDIA GPU, for a name, a size or a number that makes no sense, and where one
    of these settings stands in this process's environment.
    """
    settings.known(collective)
    settings.free()
    settings.repeats(warmup, iters)
    asked = settings.combinations(algo, proto, channels)
    first, last = parse_nbytes(begin), parse_nbytes(end)
    with one_gpu_visible(one_gpu):
        world = place(nranks, one_gpu)
        sizes = columns.sizes(first, last, factor, world.nranks)
        job = Job(collective, sizes, world, warmup, iters, timeout)
        with Count(weights(sizes, iters) * len(asked)) as count:
            cases = [_case(job, one, partial(_tell, count, i * len(sizes), one)) for i, one in enumerate(asked)]
    return Swept(collective, world.nranks, world.label, world.shared, tuple(cases))


def _tell(count: Count, first: int, asked: Asked, row: int, what: str) -> None:
    """Which row of the whole sweep comes now. first: the first one of its combination."""
    count.at(first + row, f"{asked}: {what}")


def _case(job: Job, asked: Asked, tell: Tell) -> Case:
    if why := asked.impossible(job.collective):
        return Case(asked, "impossible", why)
    env = asked.env(job.collective, sharing.nccl_version())
    with tempfile.TemporaryDirectory(prefix="nccl-log-") as folder:
        lines, failure = _lines(job, env | LOGGED | {"NCCL_DEBUG_FILE": f"{folder}/%p"}, tell)
        log = _log_of_rank_0(Path(folder))
    said = read_back(log, job.collective, job.world.nranks)
    outcome = ("refused", said.refusal) if failure and said.refusal else ("failed", failure) if failure else ("ran", "")
    read = {name: said.read[name] for name in env if name in said.read}
    rows = tuple(_row(job, asked, line, said) for line in lines)
    return Case(asked, *outcome, tuple(env.items()), tuple(read.items()), said.rings, said.version, rows, log)


def _lines(job: Job, env: dict[str, str], tell: Tell) -> tuple[list[columns.Line], str]:
    """In fresh ranks: the rows of one combination, and why there are no more, "" where all are there."""
    found: list[columns.Line] = []
    tell(0, "fresh ranks")
    try:
        with Ranks(job.world.nranks, backend="nccl", env=env, timeout=job.timeout) as ranks:
            for i, nbytes in enumerate(job.sizes):
                tell(i, f"{job.collective} of {nbytes} B")
                rest = job.warmup, job.iters, not job.world.shared
                found.append(ranks.run(measured, job.collective, nbytes, *rest)[0])
    except RankError as error:
        return found, str(error).partition("\n")[0]
    return found, ""


def measured(collective: str, nbytes: int, warmup: int, iters: int | None, timed: bool) -> columns.Line:
    """Inside ranks: one row by torch's own call."""
    return columns.measure(collective, nbytes, None, 0, warmup, iters, timed)


def _log_of_rank_0(folder: Path) -> str:
    """NCCL writes a file a process; rank 0 alone tells what was chosen (src/enqueue.cc), and its file says which it is."""
    texts = [path.read_text(errors="replace") for path in sorted(folder.iterdir())]
    return next((text for text in texts if " rank 0 n" in text), "".join(texts[:1]))


def _row(job: Job, asked: Asked, line: columns.Line, said: Said) -> SweptRow:
    side: Any = line.out_of_place or line.in_place  # an all_reduce of torch's has only the second
    took = said.took.get(line.nbytes)
    effect = took_effect(asked, took, said.rings)
    return SweptRow(asked, job.collective, job.world.nranks, line.nbytes, side.timing, line.wrong, took, effect)
