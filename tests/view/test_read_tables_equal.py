"""What the page reads of tables and topologies is what Python reads: every value, or the same words of refusal."""

from __future__ import annotations

import dataclasses
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import pytest

from helpers.nccl import TableError, TopologyError, nccl_tests_tables, parse_nccl_tests, parse_topo
from helpers.nccl.output.tables import fits, topo
from helpers.nccl.output.tables.rings import best_ring
from helpers.view.shared.bundle import bundle

HERE = Path(__file__).parent
OUTPUT = HERE.parent / "nccl" / "output"
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
    return [*real("tables"), *made(), *mutants(sources, each, seed)]


def topologies_of(each: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    texts = [text.partition("Legend:")[0] if k % 2 else text for k, text in enumerate(real("topologies"))]
    drawn = [matrix(rng, gpus) for gpus in (1, 2, 3, 5, 7, 10, 11, 16)]
    return [*real("topologies"), *drawn, *mutants([*texts, *drawn[:5]], each, seed)]


def rings_of(count: int) -> list[dict]:
    """Devices with drawn ranks between them, by name of the pair."""
    rng = random.Random(72)
    found = []
    for k in range(count):
        devices = [f"GPU{k}" for k in range(1 + k % 13)]
        rng.shuffle(devices)
        ranks = {" ".join(sorted(pair)): rng.randrange(4) for pair in combinations(devices, 2)}
        found.append({"devices": devices, "ranks": ranks})
    return found


def numbers_of(count: int) -> list[tuple[float, int]]:
    """Numbers and digits to show them in, with exact halves among them."""
    rng = random.Random(73)
    ties = [k / 2**n for n in range(1, 16) for k in range(1, 400, 7)] + [10.0**k for k in range(-12, 20)] + [0.0]
    some = [rng.random() * 10 ** rng.randint(-12, 20) for _ in range(count)]
    return [(value, rng.choice([4, 6])) for value in ties + some]


def jsons_of(count: int) -> list[str]:
    """JSON with what is seldom in it, and the same damaged."""
    rng = random.Random(74)
    told = {
        "a\"'": ["\U0001f600\u2028\x7f\ud800", "it's", 'a "b"', "\u00e9\x00\n\t", "\ue000"],
        "1": {"2": [], "0": {}},
    }
    whole = json.dumps({**told, "n": [1, -2.50, 1e-7, True, False, None, float("nan"), -float("inf")]})
    return [whole, *(strange(whole, rng, 1) for _ in range(count)), *(whole[:at] for at in range(len(whole)))]


def outcome(parse: Callable[[str], object], text: str) -> dict:
    """A value as JSON has it, or what was refused."""
    try:
        return {"value": json.loads(json.dumps(parse(text)))}
    except (TableError, TopologyError) as error:
        return {"refused": str(error), "line": error.line}


def tables(text: str) -> list[dict]:
    return [{**dataclasses.asdict(table), "said": str(table)} for table in nccl_tests_tables(text)]


def topology(text: str) -> dict:
    found = parse_topo(text)
    ring = found.best_ring()
    worst = found.worst_hop(ring)
    return {
        "devices": found.devices,
        "ways": {" ".join(pair): way for pair, way in found.ways.items()},
        "nics": found.nics,
        "cpus": found.cpus,
        "numa": found.numa,
        "gpus": found.gpus,
        "edges": [{**dataclasses.asdict(edge), "links": edge.links} for edge in found.edges()],
        "nearest": [found.nearest(gpu) for gpu in found.gpus],
        "ring": dataclasses.asdict(ring),
        "worst": worst and dataclasses.asdict(worst),
    }


def played(cases: dict, node: str, folder: Path) -> dict:
    """One node process reads everything with the modules as the page gets them: bundled."""
    (folder / "cases.json").write_text(json.dumps(cases), encoding="ascii")
    (folder / "read.mjs").write_text(bundle(HERE / "read_tables.mjs"), encoding="utf-8")
    script = HERE / "play_read_tables.mjs"
    command = [node, script, folder / "cases.json", (folder / "read.mjs").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def cases() -> dict:
    told = {"tables": tables_of(38, seed=70), "topologies": topologies_of(80, seed=71)}
    return {
        **told,
        "rings": rings_of(60),
        "numbers": numbers_of(1000),
        "jsons": jsons_of(500),
        "largest": max(real("tables"), key=len),
    }


@pytest.fixture(scope="module")
def found(cases, node, tmp_path_factory) -> dict:
    return played(cases, node, tmp_path_factory.mktemp("read"))


def same(texts: list[str], got: list[dict], parse: Callable[[str], object]) -> tuple[int, list[str]]:
    """How many were read, and every way in which others were refused, numbers and quotations left out."""
    refused, read = [], 0
    for text, told in zip(texts, got, strict=True):
        wanted = outcome(parse, text)
        assert told == wanted, text
        read += "value" in wanted
        refused += [re.sub(r"[\d.]+", "0", wanted["refused"].partition("; it reads")[0])] if "refused" in wanted else []
    return read, refused


def test_every_table_is_read_as_python_reads_it(cases, found):
    read, refused = same(cases["tables"], found["tables"], tables)
    assert len(cases["tables"]) > 1000 and read > 200 and len(refused) > 400
    kinds = {re.sub(r"'.*'|\".*\"", "it", told) for told in refused}
    assert len(kinds) > 60, kinds


def test_every_topology_is_read_as_python_reads_it(cases, found):
    read, refused = same(cases["topologies"], found["topologies"], topology)
    assert len(cases["topologies"]) > 1000 and read > 120 and len(refused) > 400


@pytest.mark.matrix("six thousand more damaged texts")
def test_thousands_more_are_read_as_python_reads_them(node, tmp_path, cases):
    more = {**cases, "tables": tables_of(120, seed=80), "topologies": topologies_of(250, seed=81)}
    got = played(more, node, tmp_path)
    same(more["tables"], got["tables"], tables)
    same(more["topologies"], got["topologies"], topology)


def test_several_tables_where_one_is_asked_for_are_refused_alike(cases, found):
    """And a device that is none, by its name with an apostrophe."""
    wanted = [
        outcome(lambda t: dataclasses.asdict(parse_nccl_tests(t)), text).get("refused") for text in cases["tables"]
    ]
    assert found["one"] == wanted and any(told and "nccl_tests_tables(text) gives" in told for told in wanted)
    unknown = [outcome(lambda t: parse_topo(t).way("GPU0", "it's"), text) for text in cases["topologies"]]
    assert found["unknown"] == unknown and any('got "it\'s"' in told["refused"] for told in unknown)


def test_the_constants_are_pythons(found):
    told = found["constants"]
    assert list(told["WORD"].items()) == list(fits.WORD.items()) and tuple(told["REDOPS"]) == fits.REDOPS
    assert list(told["WORDS"].items()) == list(topo.WORDS.items())
    for name in ("KINDS", "BEFORE_2020"):
        wanted = [
            kind._asdict() | {"alg": kind.alg and kind.alg._asdict(), "bus": kind.bus._asdict()}
            for kind in getattr(fits, name)
        ]
        assert told[name] == wanted


def test_the_best_ring_is_pythons(cases, found):
    for case, got in zip(cases["rings"], found["rings"], strict=True):
        ring = best_ring(case["devices"], lambda one, other, ranks=case["ranks"]: ranks[" ".join(sorted((one, other)))])
        assert (got["order"], got["exact"]) == (list(ring.order), ring.exact)


def test_numbers_are_spelled_as_python_spells_them(cases, found):
    assert found["numbers"] == [f"{value:.{digits}g}" for value, digits in cases["numbers"]]


def test_json_is_read_and_written_as_python_does(cases, found):
    """An error is at the same place of a text."""
    read = 0
    for text, got in zip(cases["jsons"], found["jsons"], strict=True):
        try:
            told = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
        except json.JSONDecodeError as wrong:
            comma = text[: wrong.pos].rstrip().endswith(",")  # one too many: told elsewhere from Python 3.13 on
            assert comma or got == {"wrong": len(text[: wrong.pos].encode("utf-16-le")) // 2}, text
            continue
        read += 1
        assert got == {"dumps": json.dumps(told), "repr": repr(told)}, text
    assert 50 < read < len(cases["jsons"]) - 500


def test_the_largest_table_is_read_at_once(found):
    """2 ms where nothing else runs."""
    assert found["milliseconds"] < 20
