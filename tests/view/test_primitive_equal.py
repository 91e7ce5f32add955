"""What the widget `primitive` computes in JavaScript is what Python computes; and the code it shows does on real ranks what it drew."""

from __future__ import annotations

import ast
import math
import random

import pytest
from kernel_harness import Kernel

from helpers.collectives import OPS, PRIMITIVES, origins
from helpers.collectives.outcomes import givers
from helpers.collectives.primitives import SHARES
from helpers.view.primitive.rows import number_text, read_values, usual, usual_length
from helpers.view.primitive.widget import PrimitiveSpec, after, before, getters, primitive_spec, primitives

CASES = 1500


def some_number(rng: random.Random) -> float:
    kind = rng.randrange(6)
    if kind < 3:
        return rng.randint(-50, 50)
    if kind == 3:
        return round(rng.uniform(-1000, 1000), rng.randint(1, 4))
    return rng.choice(
        [0.5, -0.25, 1e6, -1e6, 1e-7, 0.1, 1 / 3, 999999.5, rng.uniform(-1e6, 1e6), 10 ** rng.uniform(-9, 6)]
    )


def some_spec(rng: random.Random) -> PrimitiveSpec:
    """Any spec that Python accepts."""
    made = rng.choice(list(PRIMITIVES.values()))
    nranks = rng.randint(2, 16)
    most = {"whole": 8, "gathers": 16 // nranks, "parts": 16 // nranks}[made.kind]
    length = 1 if made.name == "barrier" else rng.randint(1, most) * (nranks if made.kind == "parts" else 1)
    values = [[some_number(rng) for _ in range(length)] for _ in range(nranks)]
    root = rng.randrange(nranks) if made.rooted else 0
    return primitive_spec(made.name, nranks, values, root, rng.choice(list(OPS)) if made.reduces else "sum")


@pytest.fixture(scope="module")
def specs() -> list[PrimitiveSpec]:
    rng = random.Random(30)
    plain = [
        primitive_spec(name, n, root=n - 1 if p.rooted else 0) for name, p in PRIMITIVES.items() for n in (2, 4, 16)
    ]
    return plain + [some_spec(rng) for _ in range(CASES)]


@pytest.fixture(scope="module")
def numbers() -> list[float]:
    rng = random.Random(31)
    ties = [0.5, 2.5, 1234567.5, 123456.25, 0.0000005, 1.0000005, 12345.65625, -0.0000005, 1.0005e9, 1.5e-5, 9.9995e-5]
    return [0, -0.0, 1e48, 1e-48, 9.9999e9, 99999.99995, *ties] + [
        rng.choice([1, -1]) * 10 ** rng.uniform(-12, 50) for _ in range(1000)
    ]


TEXTS = ["1 2 3", "1,2;3, 4", " 1\n2 \n", "-1.5 .5 1e3", "1 x", "", "1000001", "0x10", "nan", "Infinity", "1;;2"]
SHARED = [(key, n) for key in SHARES for n in range(2, 17)]


@pytest.fixture(scope="module")
def played(specs, numbers, play) -> dict:
    """One node process computes everything."""
    told = {"primitives": primitives(), "specs": specs, "numbers": numbers, "texts": TEXTS, "shares": SHARED}
    return play("primitives", told, parse_int=lambda text: int(text) if len(text) < 16 else float(text))


def test_there_are_enough_cases(specs):
    assert len(specs) >= 1000
    assert {spec.primitive for spec in specs} == set(PRIMITIVES)
    assert {spec.nranks for spec in specs} == set(range(2, 17))
    assert {spec.op for spec in specs} == set(OPS)


def test_every_number_after_the_call_is_the_same_to_the_last_bit(specs, played):
    for spec, got in zip(specs, played["cases"], strict=True):
        assert [list(map(float, row)) for row in got["after"]] == [row or [] for row in after(spec)], spec


def test_every_number_comes_from_the_same_places(specs, played):
    for spec, got in zip(specs, played["cases"], strict=True):
        name, nranks, root = spec.primitive, spec.nranks, spec.root
        parts = origins(name, nranks, root)
        width = len(spec.values[0]) // (nranks if PRIMITIVES[name].kind == "parts" else 1)
        wanted = [[[[r, i * width + k] for r, i in part] for part in held for k in range(width)] for held in parts]
        assert got["origins"] == wanted, spec
        assert got["gives"] == [rank in givers(name, nranks, root) for rank in range(nranks)]
        assert got["gets"] == [rank in getters(name, nranks, root) for rank in range(nranks)]


def test_numbers_are_written_the_same(numbers, specs, played):
    unlike = [
        (v, number_text(v), got) for v, got in zip(numbers, played["numbers"], strict=True) if number_text(v) != got
    ]
    assert unlike == []
    for spec, got in zip(specs, played["cases"], strict=True):
        assert got["shown"] == [[number_text(v) for v in row or ()] for row in after(spec)]


def test_a_spec_a_link_and_a_text_bring_the_same_numbers_back(specs, played):
    for spec, got in zip(specs, played["cases"], strict=True):
        assert got["spec"] == spec.as_json()
        assert got["linked"] == spec.as_json()
        assert got["fits"] is True
        assert got["rows"] == spec.values


def test_text_is_read_the_same(played):
    for text, got in zip(TEXTS, played["rows"], strict=True):
        if got is None or not got:
            continue
        rows = read_values("all_reduce", max(2, len(got)), text if len(got) > 1 else f"{text};{text}")
        assert got == (rows if len(got) > 1 else rows[:1]), text
    assert [text for text, got in zip(TEXTS, played["rows"], strict=True) if got is None] == [
        "1 x",
        "1000001",
        "0x10",
        "nan",
        "Infinity",
    ]


def test_shares_and_usual_numbers_are_the_same(specs, played):
    for (key, nranks), got in zip(SHARED, played["shares"], strict=True):
        assert math.isclose(got, SHARES[key](nranks), rel_tol=1e-15)
    assert played["usual"] == [usual(0, 0), usual(2, 3), usual(15, 15)]
    for spec, got in zip(specs, played["cases"], strict=True):
        assert got["usualLength"] == usual_length(spec.primitive, spec.nranks)


def test_the_call_on_show_is_pythons(specs, played):
    for spec, got in zip(specs, played["cases"], strict=True):
        line = PRIMITIVES[spec.primitive].line(spec.nranks, spec.root, spec.op)
        assert got["code"].splitlines()[-1] == line
        ast.parse(got["code"])
        ast.parse(got["runnable"])
        assert line in got["runnable"]


@pytest.fixture(scope="module")
def kernel():
    made = Kernel()
    yield made
    made.close()


@pytest.mark.parametrize("name", PRIMITIVES)
def test_the_copied_cell_does_on_real_ranks_what_the_widget_shows(name, specs, played, kernel):
    """On 4 ranks; what is not promised (None) may be anything."""
    at = next(i for i, spec in enumerate(specs) if (spec.primitive, spec.nranks) == (name, 4))
    lines = kernel.run(played["cases"][at]["runnable"]).splitlines()
    results = [ast.literal_eval(line) for line in lines]
    if name == "barrier":
        arrivals = [row[0] for row in before(specs[at])]
        assert [len(held) for held in results] == [1] * 4
        assert all(held[0] >= arrived for held, arrived in zip(results, arrivals, strict=True))
        return
    for got, wanted in zip(results, after(specs[at]), strict=True):
        assert wanted is None or got == wanted
