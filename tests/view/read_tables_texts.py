"""Texts for the readers of tables: real ones, made ones, rows with numbers of every program, and all of them damaged."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from helpers.nccl.output.tables.fits import BEFORE_2020, KINDS, WORD, Kind, Ratio

OUTPUT = Path(__file__).parents[1] / "nccl" / "output"
sys.path.append(str(OUTPUT))

import nccl_tests_print as synthetic  # noqa: E402
from damage import damaged  # noqa: E402

# What a text brings along from a web page, an editor or a terminal, and what Python and JavaScript take for a digit, a space or a letter.
STRANGE = (
    "\u00b2\u0663\u0967\uff11\u2028\u2029\u0085\x1c\x1f\x0b\u00a0\u3000\ufeff\u200b\u00ad\U0001f600\u00e4\u0130"
    "'\"\\{}[],:|\r\n\t\x1b#.e+-_NX0189"
)
ROWS = 8  # of each table: the damage is the same in the hundredth


def shortened(text: str) -> str:
    """Without most rows, the average and NCCL's own lines: they would catch the damage before the rows do."""
    lines = text.splitlines()
    rows = [k for k, line in enumerate(lines) if re.match(r"(\[1,0\]<stdout>:)?\s*\|?\s*\d[\d_]*(\s|[KMG]iB)", line)]
    left_out = set(rows[ROWS:])
    return "\n".join(line for k, line in enumerate(lines) if k not in left_out and not re.search("Avg|NCCL INFO", line))


def real(folder: str) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted((OUTPUT / folder).glob("*.txt"))]


def made() -> list[str]:
    """Layouts of which no real text was found, and the JSON in one line, as nccl-tests writes it, and in many."""
    options = ({}, {"spread": True}, {"stamps": True}, {"spread": True, "stamps": True}, {"clock": "cputime"})
    report = synthetic.report()
    return [*(synthetic.text(**one) for one in options), report, json.dumps(json.loads(report), indent=1)]


def matrix(rng: random.Random, gpus: int) -> str:
    """A machine with any ways between its GPUs."""
    names = [f"GPU{k}" for k in range(gpus)]
    ways = {pair: rng.choice(["SYS", "NODE", "PHB", "PXB", "PIX", "NV1", "NV2"]) for pair in combinations(names, 2)}
    rows = [
        [
            one,
            *(
                "X" if one == other else ways[min(one, other, key=names.index), max(one, other, key=names.index)]
                for other in names
            ),
            "0-7",
        ]
        for one in names
    ]
    return "\n".join(["\t" + "\t".join([*names, "CPU Affinity"]), *("\t".join(row) for row in rows)])


def share(ratio: Ratio | None, nranks: int) -> float:
    return 1.0 if ratio is None else ratio.most * ((nranks - 1) / nranks if ratio.grows else 1)


def row(rng: random.Random, kind: Kind, nranks: int, root: int, old: bool) -> list[str]:
    """One of any program, its numbers as they are printed; now and then one of them is another by its last digit, or is left out."""
    dtype = rng.choice(sorted(WORD))
    count = rng.choice([0, 1, 3, 2 ** rng.randint(0, 24)])
    nbytes = count * WORD[dtype] * (nranks if kind.parts else 1)
    names = [str(nbytes), str(count), dtype]
    redop = rng.choice(["sum", "avg"]) if kind.reduces else "none"
    names += [redop] if not old or kind.name in ("all_reduce", "reduce", "reduce_scatter") else []
    halves = []
    for _ in range(2):
        time = 10 ** rng.uniform(-1, 7)
        alg = nbytes / time / 1e3 * share(kind.alg, nranks)
        numbers = [
            synthetic.float_str(time, 7),
            *(synthetic.float_str(x, 6) for x in (alg, alg * share(kind.bus, nranks))),
        ]
        at = rng.randrange(3)
        numbers[at] = nudged(numbers[at], rng) if rng.random() < 0.1 else numbers[at]
        wrong = f"{rng.choice([0, 0, 0, 7, 1234567]):g}"
        halves.append([*numbers, "N/A" if rng.random() < 0.02 else f"{rng.choice([0, 2e-7]):.0e}" if old else wrong])
    text = "  ".join(names) + ("" if old and not kind.rooted else f"  {root}")
    empty = rng.random() < 0.1
    return [
        text
        + (" " * rng.choice([18, 26, 27, 28, 29, 30]) if empty else "  " + "  ".join(halves[0]))
        + "  "
        + "  ".join(halves[1])
    ]


def nudged(text: str, rng: random.Random) -> str:
    """The number with another last digit."""
    at = max(k for k, letter in enumerate(text.partition("e")[0]) if letter.isdigit())
    return text[:at] + str((int(text[at]) + rng.choice([1, 9])) % 10) + text[at + 1 :]


def table(rng: random.Random) -> str:
    """A run of any program over any number of ranks, with rows that mostly fit, and lines above and below that mostly do, too."""
    old = rng.random() < 0.3
    kind, nranks = rng.choice(KINDS + (BEFORE_2020 * 3 if old else ())), rng.choice([1, 2, 3, 4, 8, 72, 1000])
    root = rng.randrange(nranks) if kind.rooted else -1
    half = " time algbw busbw " + ("error" if old else "#wrong")
    redop = "redop " if not old or kind.name in ("all_reduce", "reduce", "reduce_scatter") else ""
    names = f"# size count type {redop}{'' if old and not kind.rooted else 'root'}{half}{half}"
    rows = [line for _ in range(rng.randint(1, 5)) for line in row(rng, kind, nranks, root, old)]
    above = [
        f"# Collective test starting: {kind.name}_perf",
        f"$ {kind.name}_perf -g {nranks}",
        f"$ {rng.choice(KINDS).name}_perf -g {nranks}",
        f"# nThread {rng.choice([1, 2])} nGpus 1 minBytes 8 maxBytes 9 step: 2(factor) warmup iters: 5 iters: 20",
        "# NCCL version 2.18.3",
        "# NCCL version 2.18.3+cuda12.2",
        f"# NCCL version 2.{rng.choice([18, 19])}.3",
        *(f"#  Rank {r} Pid {r} on h device {r} [0x0{r}] NVIDIA H100" for r in range(min(nranks, 8))),
    ]
    below = [
        "# Out of bounds values : 0 OK",
        "# Out of bounds values : 3 FAILED",
        "...",
        " ".join("1.5" * rng.randint(1, 8)),
        "1 2 a",
    ]
    below += [
        " ".join(["x", *["1.5"] * rng.randint(1, 8)]),
        " ".join(["12"] * rng.randint(1, 5)),
        "# Avg bus bandwidth : 1.0",
    ]
    kept = [line for line in above if rng.random() < 0.4] if rng.random() < 0.5 else []
    above += ["Rank 0 is ready", "Rank 0 Pid 12 on", "# Rank 0 is ready"] if rng.random() < 0.1 else []
    below += ["12 34 5 NCCL INFO comm 6", "12 NCCL INFO 1.5", "x 1 2 3 4 5 6 NCCL", "x NCCL 1.5"]
    after = [line for line in below if rng.random() < 0.07]
    prefix = rng.choice(PREFIXES) * rng.choice([0, 0, 0, 1, 2, 5, 6, 7])
    return "\n".join(prefix + line for line in [*kept, names, *rows, *after])


PREFIXES = (
    "0: ",
    "node-1: ",
    "[1,0]<stdout>:",
    "[node-1] ",
    "[pod/worker-0/nccl] ",
    "14:00:00 ",
    "worker-0  | ",
    "> ",
    "(head, rank=0, pid=38) ",
)


def deep(levels: int) -> str:
    return '{"results": [' + "[" * levels + "1" + "]" * levels + "]}"


def strange(text: str, rng: random.Random, most: int) -> str:
    """One letter or more put in, or put in the place of others."""
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(STRANGE) + text[at + rng.randint(0, 1) :]
    return text


def mutants(texts: list[str], each: int, seed: int) -> Iterator[str]:
    """Of every text some, damaged as logs are, with strange letters, or with both."""
    rng = random.Random(seed)
    for number, text in enumerate(texts):
        lines = text.split("\n")
        for k, one in enumerate(damaged(lines, seed + number, each, window=len(lines))):
            yield (one, strange(text, rng, 3), strange(text, rng, 1), strange(one, rng, 2))[k % 4]


def tables_of(each: int, seed: int) -> list[str]:
    sources = [shortened(text) for text in real("tables")] + made()
    rng = random.Random(seed)
    nested = [deep(levels) for levels in (0, 5, 17, 18, 19, 20, 100_000)]
    return [*real("tables"), *made(), *nested, *(table(rng) for _ in range(20 * each)), *mutants(sources, each, seed)]


def topologies_of(each: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    texts = [text.partition("Legend:")[0] if k % 2 else text for k, text in enumerate(real("topologies"))]
    drawn = [matrix(rng, gpus) for gpus in (1, 2, 3, 5, 7, 10, 11, 16)]
    return [*real("topologies"), *drawn, *mutants([*texts, *drawn[:5]], each, seed)]
