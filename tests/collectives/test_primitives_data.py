"""The ten primitives on paper: their promises applied to numbers, their volumes, and what they refuse."""

import random
from fractions import Fraction

import numpy as np
import pytest

from helpers.collectives import CATALOGUE, OPS, PRIMITIVES, PROMISES, find_primitive, origins, outcome, simulate
from helpers.collectives.outcomes import givers
from helpers.collectives.primitives import ROLES, peer

A, B, C = [1, 2, 3], [4, 5, 6], [7, 8, 9]


def test_there_are_ten_and_every_promise_is_one_of_them():
    assert len(PRIMITIVES) == 10
    assert PRIMITIVES.keys() == PROMISES.keys() | {"send_recv", "barrier"}
    assert all(PRIMITIVES[name].promise is promise for name, promise in PROMISES.items())


def test_every_primitive_has_nccl_tests_factor():
    """Source: NVIDIA/nccl-tests doc/PERFORMANCE.md; a barrier moves nothing."""
    all_but_one = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
    factors = {"all_reduce": 1.75, **dict.fromkeys(all_but_one, 0.875)} | dict.fromkeys(("broadcast", "reduce"), 1.0)
    wanted = factors | {"send_recv": 1.0, "barrier": 0.0}
    assert {name: primitive.promise.bus_factor(8) for name, primitive in PRIMITIVES.items()} == wanted


@pytest.mark.parametrize(
    ("name", "root", "op", "inputs", "wanted"),
    [
        ("all_reduce", 0, "sum", [A, B, C], [[12, 15, 18]] * 3),
        ("all_reduce", 0, "avg", [A, B, C], [[4, 5, 6]] * 3),
        ("all_reduce", 0, "max", [A, C, B], [C] * 3),
        ("all_reduce", 0, "min", [B, A, C], [A] * 3),
        ("all_reduce", 0, "product", [A, B, C], [[28, 80, 162]] * 3),
        ("reduce", 2, "sum", [A, B, C], [None, None, [12, 15, 18]]),
        ("broadcast", 1, "sum", [None, B, None], [B] * 3),
        ("all_gather", 0, "sum", [[1], [4], [7]], [[1, 4, 7]] * 3),
        ("all_gather", 0, "sum", [[1, 2], [4, 5]], [[1, 2, 4, 5]] * 2),
        ("reduce_scatter", 0, "sum", [A, B, C], [[12], [15], [18]]),
        ("reduce_scatter", 0, "max", [[1, 2, 3, 4], [4, 3, 2, 1]], [[4, 3], [3, 4]]),
        ("scatter", 1, "sum", [None, B, None], [[4], [5], [6]]),
        ("gather", 1, "sum", [[1], [4], [7]], [None, [1, 4, 7], None]),
        ("all_to_all", 0, "sum", [A, B, C], [[1, 4, 7], [2, 5, 8], [3, 6, 9]]),
        ("all_to_all", 0, "sum", [[1, 2, 3, 4], [5, 6, 7, 8]], [[1, 2, 5, 6], [3, 4, 7, 8]]),
        ("send_recv", 1, "sum", [None, B, None], [None, B, B]),
        ("send_recv", 2, "sum", [None, None, C], [C, None, C]),
        ("barrier", 0, "sum", [[3], [9], [5]], [[9]] * 3),
    ],
)
def test_what_a_primitive_does_to_numbers(name, root, op, inputs, wanted):
    assert outcome(name, inputs, root, op) == wanted


@pytest.mark.parametrize("key", list(CATALOGUE), ids=" ".join)
def test_every_schedule_of_the_catalogue_ends_where_the_outcome_says(key):
    """Two ways to the same numbers: the promise folded over origins, and the schedule played transfer by transfer."""
    name, rng = key[0], random.Random(1)
    s = CATALOGUE[key](nranks=5)
    before = PROMISES[name].before(5, s.nchunks, s.root)
    chunks = np.array([[rng.randrange(100) if before[r, c].any() else 0 for c in range(s.nchunks)] for r in range(5)])
    *_, last = simulate(s, chunks)
    after = PROMISES[name].after(5, s.nchunks, s.root)
    inputs = [[int(v) for c, v in enumerate(row) if before[r, c].any()] or None for r, row in enumerate(chunks)]
    wanted = [[int(v) for c, v in enumerate(row) if (after[r, c] >= 0).all()] or None for r, row in enumerate(last[:5])]
    assert outcome(name, inputs, s.root or 0) == wanted


@pytest.mark.parametrize("op", OPS)
def test_ops_are_made_in_rank_order(op):
    inputs = [[0.1], [0.2], [0.3], [1e16], [-1e16]]
    a, b, c, d, e = (row[0] for row in inputs)
    wanted = {
        "sum": a + b + c + d + e,
        "avg": (a + b + c + d + e) / 5,
        "max": d,
        "min": e,
        "product": a * b * c * d * e,
    }
    assert outcome("all_reduce", inputs, op=op) == [[wanted[op]]] * 5


def test_every_part_names_where_it_comes_from():
    assert origins("gather", 3, 2) == ((), (), (((0, 0),), ((1, 0),), ((2, 0),)))
    assert origins("reduce_scatter", 2) == ((((0, 0), (1, 0)),), (((0, 1), (1, 1)),))
    assert givers("scatter", 4, 3) == (3,)
    assert givers("gather", 4, 3) == (0, 1, 2, 3)


@pytest.mark.parametrize("nranks", [2, 3, 8])
@pytest.mark.parametrize("name", PROMISES)
def test_no_schedule_moves_less_than_the_least(name, nranks):
    """And the busiest port's least is nccl-tests' factor. A switch that adds and multicasts goes below it: the least is without one."""
    made = find_primitive(name)
    least = [made.least(rank, nranks) for rank in range(nranks)]
    assert float(max(max(pair) for pair in least)) == pytest.approx(made.promise.bus_factor(nranks))
    for (collective, _), build in CATALOGUE.items():
        s = build(nranks=nranks)
        if collective != name or s.nswitches:
            continue
        size = nranks if name == "all_to_all" else s.nchunks
        if made.even:
            assert Fraction(sum(s.sent()), size) >= sum(sent for sent, _ in least)
            continue
        for rank, (sent, received) in enumerate(least):
            assert Fraction(s.sent()[rank], size) >= sent
            assert Fraction(s.received()[rank], size) >= received


def test_volumes_name_every_rank_that_moves_something_once():
    for made in PRIMITIVES.values():
        for rank in range(4):
            assert sum(ROLES[v.who](rank, 4, 1) for v in made.volumes) <= 1
    assert [find_primitive("send_recv").least(r, 4, 3) for r in range(4)] == [(0, 1), (0, 0), (0, 0), (1, 0)]
    assert peer(3, 4) == 0


def test_the_line_of_torch_is_complete():
    assert find_primitive("reduce").line(4, 2, "max") == "dist.reduce(x, dst=2, op=dist.ReduceOp.MAX)"
    assert find_primitive("send_recv").line(4, 3) == (
        "dist.send(x, dst=0) if rank == 3 else dist.recv(x, src=3) if rank == 0 else None"
    )
    for made in PRIMITIVES.values():
        assert "{" not in made.line(4)
        assert made.reduces == ("{OP}" in made.call)
        assert made.rooted == ("{root}" in made.call)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: outcome("all_sum", [A, B]), "unknown primitive 'all_sum': expected one of all_reduce"),
        (lambda: outcome("all_reduce", [A]), "at least 2 ranks, got inputs for 1"),
        (lambda: outcome("reduce", [A, B], root=2), r"root must be a rank in 0\.\.1, got 2"),
        (lambda: outcome("all_reduce", [A, B], op="mean"), "unknown op 'mean': expected one of sum, avg"),
        (lambda: outcome("all_reduce", [A, [1]]), r"equally many numbers .* got \[1, 3\]"),
        (lambda: outcome("all_reduce", [A, None]), r"equally many numbers .* got \[0, 3\]"),
        (lambda: outcome("broadcast", [None, B], root=0), r"got \[0\]"),
        (lambda: outcome("all_to_all", [A, B]), "among 2 ranks: 3 numbers cannot be split evenly"),
    ],
)
def test_bad_input_says_what_was_expected(call, told):
    with pytest.raises(ValueError, match=told):
        call()
