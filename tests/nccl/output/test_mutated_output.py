"""Ten thousand damaged texts: each is refused with the documented error, or read without a number that it does not have.

What is read is checked again here, from the digits of the line, with no code of the readers.
"""

from decimal import Decimal
from itertools import combinations
from pathlib import Path
from random import Random

import nccl_tests_print as synthetic
import pytest

from helpers.nccl import TableError, TopologyError, nccl_tests_tables, parse_topo
from helpers.nccl.output.tables.cleaned import spaced

HERE = Path(__file__).parent
WORDS = {"int8": 1, "float": 4, "half": 2, "bfloat16": 2, "double": 8, "int32": 4, "uint8": 1, "char": 1, "int": 4}
ROWS = 7  # of each table: the damage is the same in the hundredth


def shortened(text):
    """Head, the last rows and no average: it would catch most of the damage before the rows do."""
    lines = text.splitlines()
    rows = [k for k, line in enumerate(lines) if line.replace("[1,0]<stdout>:", "").split()[:1] != [] and is_row(line)]
    left_out = set(rows[:-ROWS])
    return "\n".join(
        line for k, line in enumerate(lines) if k not in left_out and "Avg" not in line and "NCCL INFO" not in line
    )


def is_row(line):
    tokens = line.replace("[1,0]<stdout>:", "").split()
    return len(tokens) >= 4 and tokens[0].replace("_", "").isdigit()


def texts():
    real = {path.stem: shortened(path.read_text()) for path in sorted((HERE / "tables").glob("*.txt"))}
    made = {f"synthetic {k}": synthetic.text(*options) for k, options in enumerate([(), (True,), (False, True)])}
    return real | made | {"synthetic json": synthetic.report()}


def bytes_gone(random, text):
    at = random.randrange(len(text))
    return text[:at] + text[at + random.randint(1, 3) :]


def bytes_twice(random, text):
    at = random.randrange(len(text))
    return text[: at + random.randint(1, 3)] + text[at:]


def bytes_swapped(random, text):
    at = random.randrange(len(text) - 1)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def digit_changed(random, text):
    digits = [k for k, letter in enumerate(text) if letter.isdigit()] or [0]
    at = random.choice(digits)
    return text[:at] + random.choice("0123456789") + text[at + 1 :]


def byte_changed(random, text):
    at = random.randrange(len(text))
    return text[:at] + random.choice(" .-\t\n\x00\x1b{}[]|#éN9e+") + text[at + 1 :]


def line_cut(random, text):
    lines = text.splitlines()
    at = random.randrange(len(lines))
    lines[at] = lines[at][: random.randint(0, len(lines[at]))]
    return "\n".join(lines)


def line_gone(random, text):
    lines = text.splitlines()
    del lines[random.randrange(len(lines))]
    return "\n".join(lines)


def lines_mixed(random, text):
    lines = text.splitlines()
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def token_elsewhere(random, text):
    lines = text.splitlines()
    one, other = (random.choice(lines).split() for _ in range(2))
    return text.replace(random.choice(one), random.choice(other), 1) if one and other else text


def end_gone(random, text):
    return text[: random.randrange(len(text))]


DAMAGE = (
    bytes_gone,
    bytes_twice,
    bytes_swapped,
    digit_changed,
    byte_changed,
    line_cut,
    line_gone,
    lines_mixed,
    token_elsewhere,
    end_gone,
)


def mutants(sources, count, seed):
    """(name, text): one to three damages each, the same every time."""
    random, names = Random(seed), sorted(sources)
    for number in range(count):
        name = names[number % len(names)]
        text = sources[name]
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            text = random.choice(DAMAGE)(random, text) if len(text) > 1 else text
        yield name, text


def half_unit(text):
    """What printf may have rounded away: half of the last digit that is shown."""
    return Decimal((0, (5,), Decimal(text).as_tuple().exponent - 1))


def ends(text):
    return max(Decimal(0), Decimal(text) - half_unit(text)), Decimal(text) + half_unit(text)


def contradiction(row, line):
    """What a row says against itself or against its line; "" where there is nothing."""
    tokens = line.split()
    if row.count is not None and row.nbytes and row.nbytes % (row.count * WORDS[row.dtype]):
        return "count and size"
    for timing in row.timings:
        told = {"algbw": timing.algbw / 1e9, "busbw": timing.busbw / 1e9}
        told |= {"time": timing.seconds * 1e6} if timing.seconds is not None else {}
        shown = {
            name: [t for t in numbers(tokens) if abs(float(t) - value) <= 1e-9 * max(1, value)]
            for name, value in told.items()
        }
        if not all(shown.values()):
            return f"{shown} is not in the line"
        if "time" in told and row.nbytes:
            low, high = (
                a * t * 1000 / row.nbytes for a, t in zip(ends(shown["algbw"][0]), ends(shown["time"][0]), strict=True)
            )
            if low > Decimal("1.00001") or high < Decimal("0.49999"):
                return "algbw and size / time"
        if ends(shown["busbw"][0])[0] > 2 * ends(shown["algbw"][0])[1]:
            return "busbw of more than twice algbw"
    return ""


def numbers(tokens):
    found = [token.strip("|").removesuffix("GBps") for token in tokens]
    return [token for token in found if token.replace(".", "", 1).replace("e+", "", 1).isdigit() and token.isascii()]


def test_damaged_tables_are_refused_or_agree_with_themselves():
    refused = read = 0
    for name, text in mutants(texts(), 10_000, seed=20261123):
        try:
            tables = nccl_tests_tables(text)
        except TableError as error:
            refused += 1
            assert str(error)
            continue
        read += 1
        lines = spaced(text).split("\n")
        rows = [row for table in tables for row in table.rows]
        assert rows
        told = [] if text.lstrip().startswith("{") else [of_its_lines(row, lines) for row in rows]
        assert not any(told), (name, [(row, what) for row, what in zip(rows, told, strict=True) if what])
    assert refused > 4000 and read > 2000


def of_its_lines(row, lines):
    """A row that a line's end has cut stands in two lines."""
    here, both = lines[row.line - 1], "".join(lines[row.line - 1 : row.line + 1])
    return contradiction(row, clean(here)) and contradiction(row, clean(both))


def clean(line):
    return line.replace("_", "").replace("\x1b", " ")


def test_damaged_matrices_are_refused_or_agree_with_themselves():
    sources = {
        path.stem: path.read_text().partition("Legend:")[0] for path in sorted((HERE / "topologies").glob("*.txt"))
    }
    refused = read = 0
    for name, text in mutants(sources, 10_000, seed=7):
        try:
            topology = parse_topo(text)
        except TopologyError as error:
            refused += 1
            assert str(error)
            continue
        read += 1
        pairs = [
            pair for pair in combinations(topology.devices, 2) if pair[0] in topology.gpus or pair in topology.ways
        ]
        assert all(topology.ways[a, b] == topology.ways[b, a] for a, b in pairs), name  # rows of cards may be missing
        assert all(topology.ways[a, b] in text or topology.ways[a, b] == "SYS" for a, b in topology.ways), name
        assert set(topology.cpus) == set(topology.devices) and topology.best_ring().order
    assert refused > 4000 and read > 1000


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        '{"results": [' + "[" * 100_000,
        "9" * 100_000,
        "size algbw busbw " * 1000,
        "\x00" * 1000,
        "{}",
        "[]",
        "{'results': 1}",
    ],
)
def test_strange_texts_are_refused(text):
    with pytest.raises(TableError):
        nccl_tests_tables(text)
    with pytest.raises(TopologyError):
        parse_topo(text)
