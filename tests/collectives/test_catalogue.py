"""Every entry of the catalogue at every P from 1 to 64: it keeps its promise, in the steps and bytes that its decorator states.

Roots: every one up to 12 ranks, and beyond that the middle one beside rank 0 (proofs at all roots grow with the fourth power of P).
"""

from __future__ import annotations

import inspect
import random
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import pytest
from lanes import some

from helpers.collectives import (
    CATALOGUE,
    PROMISES,
    ScheduleError,
    about,
    check,
    loads,
    price,
    price_loads,
)
from helpers.collectives.algorithms import bruck, hierarchical, ring
from helpers.collectives.algorithms.hierarchical import per_node
from helpers.collectives.ports import ends, flows, pieces

P64 = range(1, 65)
# A proof of a schedule is one for its P alone. All up to 17, then powers of two, their neighbours, primes and what has many divisors.
SOME_P = (*range(1, 18), 23, 24, 31, 32, 33, 48, 64)
REST = tuple(n for n in P64 if n not in SOME_P)
NUMBERS = pytest.mark.parametrize(
    "ps", some([SOME_P, REST], [SOME_P], "every number of ranks"), ids=["some P", "the other P"]
)
ROOTED = [key for key in CATALOGUE if PROMISES[key[0]].rooted]
PIPELINED = [key for key, build in CATALOGUE.items() if "nchunks" in inspect.signature(build).parameters]


def log2(n):
    """Rounded up."""
    return (n - 1).bit_length()


# What saved notebooks quote: (steps, the most chunks that one rank sends)
QUOTED = {
    ("all_reduce", "ring"): lambda n: (2 * (n - 1), 2 * (n - 1)),
    ("all_reduce", "flat"): lambda n: (2 * (n - 1), n - 1 if n > 1 else 0),
    ("all_reduce", "binomial"): lambda n: (2 * log2(n), log2(n)),
    ("reduce_scatter", "ring"): lambda n: (n - 1, n - 1),
    ("reduce_scatter", "flat"): lambda n: (n - 1, n - 1),
    ("all_gather", "ring"): lambda n: (n - 1, n - 1),
    ("all_gather", "flat"): lambda n: (n - 1, n - 1),
    ("broadcast", "ring"): lambda n: (2 * n - 2, n if n > 1 else 0),
    ("broadcast", "flat"): lambda n: (n - 1, n - 1),
    ("broadcast", "binomial"): lambda n: (log2(n), log2(n)),
    ("reduce", "flat"): lambda n: (n - 1, 1 if n > 1 else 0),
    ("reduce", "binomial"): lambda n: (log2(n), 1 if n > 1 else 0),
    ("scatter", "flat"): lambda n: (n - 1, n - 1),
    ("gather", "flat"): lambda n: (n - 1, 1 if n > 1 else 0),
    ("all_to_all", "flat"): lambda n: (n - 1, n - 1),
}


@NUMBERS
@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
def test_promise_steps_and_bytes_at_every_p(key, ps):
    build = CATALOGUE[key]
    said = about(build)
    for n in ps:
        few = {"slices": 2} if n > 16 and key[1] == "nvls" else {}  # slices are alike: two of them show all there is
        s = build(nranks=n, **few)
        check(s)
        assert (s.collective, s.algorithm) == key
        if n == 1:
            assert s.steps == build.profile(1) == ()
            continue
        shape = n, s.nchunks, per_node(n)
        moves = Fraction(max(s.sent() + s.received()), pieces(s))
        assert (len(s.steps), moves) == (said.steps(*shape), said.moves(*shape)), n
        assert loads(s) == build.profile(n, **few), n
        for flow in flows(s):  # no port twice in a step, where that is promised
            ports = Counter(port for (src, dst), _ in flow for port in ends(src, dst, n))
            assert max(ports.values()) <= said.messages(n), n


@pytest.mark.parametrize("key", QUOTED, ids="-".join)
def test_what_notebooks_quote_stays(key):
    for n in P64:
        s = CATALOGUE[key](nranks=n)
        assert (len(s.steps), max(s.sent())) == QUOTED[key](n), n


@pytest.mark.parametrize(
    "ps", some([range(1, 18), range(18, 65)], [range(1, 18)], "every root at every number of ranks"), ids=str
)
@pytest.mark.parametrize("key", ROOTED, ids="-".join)
def test_every_root(key, ps):
    """All of them; in two chunks where a pipeline may have more, since a root says nothing of their number."""
    build = CATALOGUE[key]
    few = {"nchunks": 2} if key in PIPELINED else {}
    for n in ps:
        for root in range(n):
            s = build(nranks=n, root=root, **few)
            check(s)
            assert s.root == root and (n == 1 or len(s.steps) == about(build).steps(n, **few))


@NUMBERS
@pytest.mark.parametrize("key", ROOTED, ids="-".join)
def test_every_root_has_its_profile(key, ps):
    build = CATALOGUE[key]
    for n in ps:
        for root in range(n) if n <= 12 else (n // 2,):
            assert loads(build(nranks=n, root=root)) == build.profile(n, root=root)


@pytest.mark.parametrize("key", PIPELINED, ids="-".join)
def test_every_number_of_chunks(key):
    build = CATALOGUE[key]
    for n in (1, 2, 3, 4, 7, 8, 13, 16):
        for nchunks in (1, 2, 3, 5, 8, 16):
            s = build(nranks=n, nchunks=nchunks)
            check(s)
            assert s.nchunks == nchunks and loads(s) == build.profile(n, nchunks=nchunks)
            if n > 1 and nchunks % 2 == 0:
                assert len(s.steps) == about(build).steps(n, nchunks)
    with pytest.raises(ScheduleError, match="nchunks must be a whole number >= 1, got 0"):
        build(nranks=4, nchunks=0)


@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
def test_a_profile_is_priced_as_the_schedule_is(key):
    rng = random.Random(0)
    for n in (1, 2, 3, 6, 8, 13):
        s, profile = CATALOGUE[key](nranks=n), CATALOGUE[key].profile(n)
        for _ in range(5):
            link = SimpleNamespace(alpha=10 ** rng.uniform(-8, -3), beta=10 ** rng.uniform(-12, -8))
            link.link = lambda src, dst, link=link: link
            nbytes = rng.randrange(2**30)
            assert price_loads(profile, nbytes, link) == pytest.approx(price(s, nbytes, link).seconds, rel=1e-12)


def test_a_profile_needs_no_schedule(link):
    """A ring of 100,000 ranks has 20 billion transfers; its price takes no time: it is all alpha, and the tree is 3,000 times faster."""
    slow, fast = (CATALOGUE["all_reduce", name].profile(100_000) for name in ("ring", "recursive-doubling"))
    assert price_loads(slow, 8, link) == pytest.approx(2 * 99_999 * 1e-5, rel=1e-6)
    assert price_loads(slow, 8, link) / price_loads(fast, 8, link) > 3000 * 3
    with pytest.raises(ScheduleError, match="nranks must be a whole number >= 1, got 0"):
        ring.all_reduce.profile(0)


def test_gpus_per_node():
    assert [per_node(n) for n in (1, 2, 4, 6, 7, 8, 12, 16, 64)] == [1, 1, 2, 3, 1, 4, 6, 8, 8]
    for n, gpus in ((8, 2), (8, 8), (8, 1), (12, 4), (64, 8)):
        for build in (hierarchical.all_reduce, hierarchical.reduce_scatter, hierarchical.all_gather):
            s = build(n, gpus)
            check(s)
            assert len(s.steps) == about(build).steps(n, gpus=gpus)
            assert loads(s) == build.profile(n, gpus)
    with pytest.raises(ScheduleError, match="8 ranks do not divide into nodes of 3 GPUs"):
        hierarchical.all_reduce(8, 3)


def test_only_the_rails_cross_nodes():
    """Each rank sends 2(nodes-1)/P of the buffer across, to ranks of the same place in their nodes; all the rest stays inside."""
    s = hierarchical.all_reduce(32, 8)
    across = [t for step in s.steps for t in step if t.src // 8 != t.dst // 8]
    assert {t.src % 8 == t.dst % 8 for t in across} == {True}
    assert Counter(t.src for t in across) == dict.fromkeys(range(32), 2 * 3)


@pytest.mark.parametrize("n", [2, 7, 8, 16, 33])
@pytest.mark.parametrize("aggregate", [1, 2, 4])
def test_pat_with_few_chunks_in_a_message(n, aggregate):
    for build in (bruck.pat_all_gather, bruck.pat_reduce_scatter):
        s = build(n, aggregate)
        check(s)
        assert loads(s) == build.profile(n, aggregate)
        assert max(count for flow in flows(s) for _, count in flow) <= aggregate
        assert aggregate > 1 or len(s.steps) == n - 1
    with pytest.raises(ScheduleError, match="aggregate must be a power of two, got 3"):
        bruck.pat_all_gather(8, 3)


def test_pat_sends_most_to_the_nearest_and_bruck_to_the_furthest():
    near_to_far = [4 / 8, 2 / 8, 1 / 8]
    for name, wanted in (("pat", near_to_far), ("bruck", near_to_far[::-1])):
        s = CATALOGUE["all_gather", name](8)
        moved = Counter()
        for step in s.steps:
            for t in step:
                moved[min((t.dst - t.src) % 8, (t.src - t.dst) % 8)] += 1
        assert [moved[d] / 64 for d in (1, 2, 4)] == wanted


@pytest.mark.parametrize("name", ["all_reduce", "all_gather", "reduce_scatter"])
def test_nvls_in_slices(name):
    build = CATALOGUE[name, "nvls"]
    for n in (1, 2, 5, 8):
        for slices in (1, 2, 3, 8):
            s = build(n, slices)
            check(s)
            assert loads(s) == build.profile(n, slices)
            assert n == 1 or len(s.steps) == about(build).steps(n, n * slices)


def test_nvls_needs_less_than_a_ring_of_three_or_more():
    """(1 + 1/P) against 2(P-1)/P: 1.125 against 1.75 buffers at 8 GPUs, so a busbw above the wire's rate is no mistake."""
    for n in range(4, 65):
        nvls, ring_ = (about(CATALOGUE["all_reduce", name]).moves(n) for name in ("nvls", "ring"))
        assert nvls < ring_
    assert Fraction(2 * 7, 8) / Fraction(9, 8) == Fraction(14, 9)


def test_a_description_is_complete():
    for key, build in CATALOGUE.items():
        said = about(build)
        assert all(value for name, value in vars(said).items() if name != "source"), key
        assert said.what.endswith("."), key
        assert build.__doc__.endswith(f"\n\n{said}"), "help(builder) ends with what the decorator says"
    assert str(about(CATALOGUE["all_reduce", "ring"])).splitlines()[:2] == ["Steps: 2(P-1)", "Moves: 2(P-1)/P"]


def test_shots_are_counted_by_one_convention():
    """A port sends one message a step and receives one, in one-shot as in two-shot: so their steps compare."""
    for n in range(2, 13):
        one, two = (CATALOGUE["all_reduce", name](nranks=n) for name in ("one-shot", "two-shot"))
        for s in (one, two):
            for step in s.steps:
                sent = Counter(t.src for t in step if t.src < n)
                assert max(sent.values(), default=0) <= 1, (s.algorithm, n)
                assert max(Counter(t.dst for t in step).values()) <= 1, (s.algorithm, n)
        assert (len(one.steps), len(two.steps)) == (n, 2 * (n - 1))


def test_the_root_of_a_reduce_sends_nothing():
    """The others send the whole buffer at least once between them and the root receives it: by any algorithm, from any root."""
    for (collective, _), build in CATALOGUE.items():
        for n, root in ((4, 0), (5, 3), (8, 7)) if collective == "reduce" else ():
            s = build(nranks=n, root=root)
            sent, received = s.sent(), s.received()
            assert sent[root] == 0, s.algorithm
            assert all(sent[r] >= s.nchunks for r in range(n) if r != root), s.algorithm
            assert received[root] >= s.nchunks, s.algorithm
