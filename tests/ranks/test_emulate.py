"""The link emulator: what ranks measure on an emulated network lies within 15 % of what the model says."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import labs
import pytest
import slow_networks as lab
import torch
import torch.distributed as dist
from lanes import some

from helpers.collectives import CATALOGUE, crossover, price
from helpers.facts import Link
from helpers.ranks import RankError, Ranks, fit_link, messages
from helpers.ranks.network.collectives import PLAYED
from helpers.units import KIB, MIB

LINK = lab.link(5, 100)  # 5 ms and 100 MB/s
NODES = lab.TwoNodes(lab.link(5, 50), lab.link(25, 10))
FAR = lab.link(200, 50)  # so slow that a busy machine is not mistaken for it
CLOSE = 0.15
SIZES = [KIB, 8 * KIB, 64 * KIB, 512 * KIB, 4 * MIB]


def near(want: float) -> object:
    return pytest.approx(want, rel=CLOSE)


def all_reduce(algorithm: str):
    return CATALOGUE["all_reduce", algorithm](nranks=4)


@pytest.fixture(scope="module")
def slow() -> Iterator[Ranks]:
    """Four ranks on the lab's network."""
    with Ranks(4, backend="gloo", link=LINK, timeout=5.0) as ranks:
        yield ranks


@pytest.fixture(scope="module")
def nodes() -> Iterator[Ranks]:
    """Two nodes of two ranks."""
    with Ranks(4, backend="gloo", link=NODES, timeout=5.0) as ranks:
        yield ranks


@pytest.fixture(scope="module")
def far() -> Iterator[Ranks]:
    """Two ranks, far from each other."""
    with Ranks(2, backend="gloo", link=FAR) as ranks:
        yield ranks


# the measured curve lies on the model's --------------------------------------------------------------------------------
@pytest.mark.alone
@pytest.mark.parametrize("busy", some([False, True], [False], "messages beside others"))
def test_a_message_takes_alpha_and_its_bytes(slow, busy):
    sizes = [4, 64 * KIB, 512 * KIB]
    assert slow.run(messages, sizes, busy)[0] == [near(LINK.seconds(nbytes)) for nbytes in sizes]


@pytest.mark.alone
@pytest.mark.parametrize(
    "algorithm",
    some(
        ["ring", "binomial", "flat", "halving-doubling", "recursive-doubling", "two-shot"],
        ["ring", "binomial", "flat"],
        "more schedules on an emulated link",
    ),
)
def test_an_all_reduce_takes_what_price_says_at_every_size(slow, algorithm):
    s = all_reduce(algorithm)
    for nbytes, seconds in zip(SIZES, slow.run(lab.played, s, SIZES, 5)[0], strict=True):
        assert seconds == near(price(s, nbytes, LINK).seconds), f"{nbytes} bytes"


@pytest.mark.alone
def test_tree_and_ring_cross_where_price_says(slow):
    """Measured at the powers of two around it: the tree wins up to one, the ring from the next, and the model says between the two."""
    tree, ring = all_reduce("binomial"), all_reduce("ring")
    model = crossover(tree, ring, LINK)
    sizes = [2 ** (model.bit_length() + k) for k in (-3, -2, -1, 0, 1)]
    trees, rings = (slow.run(lab.played, s, sizes, 9)[0] for s in (tree, ring))
    tree_wins = [a < b for a, b in zip(trees, rings, strict=True)]
    assert tree_wins == sorted(tree_wins, reverse=True), "there is one crossover"
    last, first = sizes[tree_wins.count(True) - 1], sizes[tree_wins.count(True)]
    assert last < model <= first == 2 * last


@pytest.mark.matrix("more schedules on an emulated link")
@pytest.mark.alone
def test_tree_and_ring_are_equal_where_price_says_that_they_cross(slow):
    where = crossover(all_reduce("binomial"), all_reduce("ring"), LINK) // 4 * 4
    (tree,), (ring,) = (slow.run(lab.played, all_reduce(name), [where], 9)[0] for name in ("binomial", "ring"))
    assert tree == near(ring)


@pytest.mark.alone
def test_every_collective_of_torchs_takes_what_its_schedule_costs(slow):
    nbytes = 512 * KIB
    for name, (collective, seconds) in slow.run(lab.called, nbytes)[0].items():
        s = CATALOGUE[collective, PLAYED[collective]](nranks=4)
        assert seconds == near(price(s, nbytes, LINK).seconds), name


@pytest.mark.alone
def test_a_topology_prices_each_pair_of_ranks_by_itself(nodes):
    assert nodes.run(lab.between, 0, 1, 100_000)[0] == near(NODES.inside.seconds(100_000))
    assert nodes.run(lab.between, 1, 2, 100_000)[0] == near(NODES.between.seconds(100_000))
    assert nodes.run(lab.in_a_subgroup, 100_000)[0] == near(NODES.between.seconds(100_000))


@pytest.mark.alone
@pytest.mark.parametrize("algorithm", some(["ring", "binomial"], ["ring"], "more schedules on an emulated link"))
def test_a_topology_is_priced_and_measured_alike(nodes, algorithm):
    s = all_reduce(algorithm)
    assert nodes.run(lab.played, s, [400_000], 3)[0] == [near(price(s, 400_000, NODES).seconds)]


@pytest.mark.alone
def test_messages_queue_at_the_port_they_share(slow):
    one = LINK.seconds(200_000)
    assert slow.run(lab.to_one, 200_000)[0] == near(3 * one)
    assert slow.run(lab.from_one, 200_000)[0] == near(3 * one)


@pytest.mark.alone
def test_alpha_and_bandwidth_are_recovered_by_ping_pong(slow):
    found = fit_link(slow, sizes=[4 * KIB, 256 * KIB, MIB])
    assert isinstance(found, Link) and found.alpha == near(LINK.alpha) and found.beta == near(LINK.beta)


# torch's semantics stay ------------------------------------------------------------------------------------------------
def test_the_values_are_those_of_a_network_that_is_not_emulated(slow, four):
    assert slow.run(lab.lists) == four.run(lab.lists)


@pytest.mark.matrix("every schedule on an emulated link")
def test_the_whole_catalogue_gives_the_same_bits_as_torchs_stand_ins():
    with Ranks(3, backend="gloo", link=lab.link(0, 1e4)) as ranks:
        cases = [case._replace(ways=("new",)) for case in labs.cases(3, sizes=(97,))]
        assert ranks.run(labs.differences, cases) == [[]] * 3


@pytest.mark.alone
def test_posting_is_free_sending_takes_the_port_and_a_late_receiver_waits_no_more(far):
    found = far.run(lab.posted)
    assert found[0]["posted"] < FAR.alpha / 2 and found[0]["sent"] > 0.9 * FAR.alpha
    assert found[1]["late"] < FAR.alpha / 2 and found[1]["complete"]


def test_tags_anyone_short_and_empty_messages_and_dtypes(slow):
    found = slow.run(lab.orderly)[1]
    assert found["tags"] == [(0, [3.0, 3.0]), (0, [1.0, 1.0]), (0, [2.0, 2.0])]
    assert found["waits"] == (True, True, [1.0, 1.0, 0.0, 0.0], 0) and found["empty"] == 0
    assert found["torch.bool"] == [True] * 3 and found["torch.bfloat16"] == [1.0] * 3
    assert found["torch.complex64"] == [1 + 0j] * 3 and found["torch.int64"] == [1] * 3
    assert found["scalar"] == 7.0 and found["objects"] == [{"a": 1}]


def test_an_asynchronous_all_reduce_overlaps_and_keeps_its_order(far):
    keys = ("all_reduce", "ring"), ("broadcast", "binomial")
    ring, tree = (price(CATALOGUE[key](nranks=2), 16, FAR).seconds for key in keys)
    first, second = far.run(lab.overlapped)
    assert not first["complete"], "rank 0 had its handle before rank 1 began"
    for found in (first, second):
        assert found["one"] > 0.9 * ring and found["three"] > 0.9 * (2 * ring + tree)
        assert found["order"] == [True, True], "what was called first is over first"
        assert [found[name] for name in "xyz"] == [[4.0] * 4] * 3, "a broadcast before the sum would make six of y"


def test_barrier_and_objects_are_not_on_the_network(far):
    none = dict.fromkeys(("barrier", "all_gather_object", "broadcast_object_list"), 0)
    assert far.run(lab.off_the_network) == [none | {"all_reduce": 2}] * 2


def test_a_receiver_sleeps(far):
    wall, cpu = far.run(lab.idle)[1]
    assert wall > 0.9 * FAR.alpha and cpu < FAR.alpha / 3


@pytest.mark.parametrize(
    "wrong, error, said",
    [
        (lambda: dist.isend([1.0], 1), "TypeError", "tensor"),
        (lambda: dist.isend(torch.ones(4, 4)[:, 1], (dist.get_rank() + 1) % 4), "RuntimeError", "contiguous"),
        (lambda: dist.send(torch.ones(1)), "ValueError", "dst"),
        (lambda: dist.all_reduce([1.0]), "TypeError", "tensor"),
        (lambda: dist.all_reduce(), "TypeError", "tensor"),
        (
            lambda: dist.all_gather([torch.ones(1)], torch.ones(1)),
            "ValueError",
            "one tensor per rank: expected 4, got 1",
        ),
    ],
)
def test_wrong_arguments_are_told_as_torch_tells_them(slow, wrong, error, said):
    with pytest.raises(RankError, match=rf"ranks 0-3 raised {error}(.|\n)*{said}"):
        slow.run(wrong)
    assert slow.run(labs.healthy) == [16.0] * 4


@pytest.mark.parametrize(
    "unplayable, said",
    [
        (lambda: dist.all_reduce(torch.ones(1), dist.ReduceOp.BAND), "all_reduce with sum, avg, prod, min, max, got"),
        (lambda: dist.all_reduce_coalesced([torch.ones(1)]), "all_reduce_coalesced would pass"),
        (
            lambda: torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1)),
            "DistributedDataParallel would pass",
        ),
        (
            lambda: dist.all_to_all_single(torch.ones(4), torch.ones(4), [1, 1, 1, 1], [2, 1, 1, 0]),
            r"equal parts only, got input_split_sizes=\[2, 1, 1, 0\]",
        ),
        (
            lambda: dist.all_gather([torch.ones(1 + (r > 2)) for r in range(4)], torch.ones(1)),
            "equal parts only, got tensor_list with 1 of torch.float32, 1 of torch.float32",
        ),
    ],
)
def test_what_cannot_be_played_is_refused_with_what_to_do_instead(slow, unplayable, said):
    with pytest.raises(RankError, match=said) as caught:
        slow.run(unplayable)
    assert "NotImplementedError" in str(caught.value) and "execute(...), or use Ranks without link=" in str(
        caught.value
    )


# faults ----------------------------------------------------------------------------------------------------------------
def test_a_message_that_never_comes_is_reported_by_its_own_name(slow):
    with pytest.raises(RankError) as caught:
        slow.run(lambda: dist.recv(torch.ones(4), 1) if dist.get_rank() == 0 else None)
    assert "rank 0 waiting in recv from rank 1" in str(caught.value)
    assert slow.run(labs.healthy) == [16.0] * 4


def test_a_collective_that_a_rank_skips_is_reported_as_the_collective_itself(slow):
    with pytest.raises(RankError, match=r"waiting in all_reduce #1 of float32\[1024\]") as caught:
        slow.run(labs.returns_early)
    assert "isend" not in str(caught.value)


def test_different_collectives_are_told_apart(slow):
    with pytest.raises(RankError, match=r"all_reduce #4(.|\n)*broadcast #4"):
        slow.run(labs.differs_in_op)


def test_a_death_ends_ranks_that_sleep_until_their_message_is_due():
    def f():
        if dist.get_rank() == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.recv(torch.ones(1), 1 + dist.get_rank() % 2) if dist.get_rank() != 1 else dist.send(torch.ones(1), 2)

    with Ranks(3, backend="gloo", link=lab.link(60_000, 100), timeout=100) as ranks:
        start = time.monotonic()
        with pytest.raises(RankError, match="rank 0 died: SIGKILL"):
            ranks.run(f)
        ranks.close()
        assert time.monotonic() - start < 10, "not the minute that the message takes"
