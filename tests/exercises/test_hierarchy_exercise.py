"""The checkers accept the solutions and refuse every seeded wrong answer, with the smallest failing case."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from solutions import solutions

import helpers.collectives
from helpers import facts
from helpers.collectives import CATALOGUE, Nodes, Schedule, Transfer, beside
from helpers.exercises.hierarchy import along_rails, every_nic, overlapped

SOLVED = solutions("hierarchy", **vars(helpers.collectives))


class BothAtOnce(Nodes):
    """NVLink and NIC are ports of their own."""

    def ports(self, src, dst):
        kind = "nvlink" if src // self.gpus == dst // self.gpus else "nic"
        return ("send", kind, src), ("recv", kind, dst)


NETWORK = BothAtOnce(8, facts.LINKS["nvlink-4"], facts.LINKS["infiniband-ndr"])


# a broadcast through every NIC ------------------------------------------------------------------------------------------
def shared_broadcast(nodes, gpus, last="all_gather", rails=lambda i, nranks, gpus: range(i, nranks, gpus)):
    P = nodes * gpus
    spread = CATALOGUE["scatter", "flat"](nranks=gpus).on(range(gpus), P, nchunks=gpus)
    down = CATALOGUE["broadcast", "binomial"](nranks=nodes)
    across = beside(*(down.on(rails(i, P, gpus), P, [i], gpus) for i in range(gpus)))
    collect = CATALOGUE[last, "ring"](nranks=gpus)
    inside = beside(*(collect.on(range(k * gpus, (k + 1) * gpus), P, nchunks=gpus) for k in range(nodes)))
    return (spread + across + inside).named("broadcast", "every-nic", root=0)


def leaders_only(nodes, gpus):
    P, tree = nodes * gpus, CATALOGUE["broadcast", "binomial"]
    inside = beside(*(tree(nranks=gpus).on(range(k * gpus, (k + 1) * gpus), P) for k in range(nodes)))
    return (tree(nranks=nodes).on(range(0, P, gpus), P) + inside).named("broadcast", "leaders", root=0)


def short_broadcast(nodes, gpus):
    s = shared_broadcast(nodes, gpus)
    return replace(s, steps=s.steps[:-1])


def test_the_solution_sends_a_share_through_every_nic():
    assert every_nic(shared_broadcast).passed
    assert every_nic(SOLVED["my_broadcast"]).passed


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda n, g: CATALOGUE["broadcast", "binomial"](n * g), "At 2 nodes of 2: rank 2 receives 1 of the buffer"),
        (leaders_only, "At 2 nodes of 2: rank 2 receives 1 of the buffer through its NIC; with 2 NICs a node, 1/2"),
        (lambda n, g: CATALOGUE["broadcast", "ring"](n * g), "At 2 nodes of 2: rank 2 receives 1 of the buffer"),
        (short_broadcast, "rank 0 chunk|holds \\[nothing\\]"),
        (lambda n, g: CATALOGUE["broadcast", "flat"](n * g, root=1), "expected a broadcast from rank 0, got root 1"),
        (lambda n, g: CATALOGUE["all_reduce", "ring"](n * g), "expected broadcast of 4 ranks"),
        (lambda n, g: shared_broadcast(2, 2), "At 2 nodes of 3: expected broadcast of 6 ranks"),
        (lambda n, g: None, "expected a Schedule, got None"),
        (lambda n, g: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_wrong_broadcasts_are_refused(wrong, says):
    answer = every_nic(wrong)
    assert not answer.passed and re.search(says, str(answer)), answer


# an all_to_all along rails ----------------------------------------------------------------------------------------------
def railed(nodes, gpus, together=True):
    P = nodes * gpus
    ids = [(k, i) for k in range(nodes) for i in range(gpus)]

    def rank(k, i):
        return k * gpus + i

    inside = [
        [
            Transfer(rank(k, i), rank(k, (i + t) % gpus), rank(k, i) * P + rank(m, (i + t) % gpus))
            for k, i in ids
            for m in range(nodes)
        ]
        for t in range(1, gpus)
    ]
    across = [
        [
            Transfer(rank(k, i), rank((k + t) % nodes, i), rank(k, j) * P + rank((k + t) % nodes, i))
            for k, i in ids
            for j in ([source] if source is not None else range(gpus))
        ]
        for t in range(1, nodes)
        for source in ([None] if together else range(gpus))
    ]
    return Schedule("all_to_all", "railed", P, P * P, [*inside, *across])


def test_the_solution_stays_on_its_rails():
    assert along_rails(railed).passed
    assert along_rails(SOLVED["my_all_to_all"]).passed


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            lambda n, g: CATALOGUE["all_to_all", "pairwise"](n * g),
            r"At 2 nodes of 2: step 1 sends chunk 6 from rank 1 to rank 2, from rail 1 to rail 0",
        ),
        (
            lambda n, g: railed(n, g, together=False),
            "At 2 nodes of 2: rank 0 sends 2 messages to other nodes; one for each, 1,",
        ),
        (lambda n, g: replace(railed(n, g), steps=railed(n, g).steps[:-1]), "holds"),
        (lambda n, g: CATALOGUE["all_gather", "ring"](n * g), "expected all_to_all of 4 ranks"),
    ],
)
def test_wrong_all_to_alls_are_refused(wrong, says):
    answer = along_rails(wrong)
    assert not answer.passed and re.search(says, str(answer)), answer


# two halves at once -----------------------------------------------------------------------------------------------------
def halves(nodes, gpus, staggered=True):
    P, stages = nodes * gpus, stages_of(nodes, gpus)
    parts = [[s.on(range(P), P, range(h * P, (h + 1) * P), 2 * P) for s in stages] for h in range(2)]
    first, second = parts
    if not staggered:
        return ((first[0] | second[0]) + (first[1] | second[1]) + (first[2] | second[2])).named("all_reduce", "both")
    middle = (first[1] | second[0]) + (first[2] | second[1])
    return (first[0] + middle + second[2]).named("all_reduce", "staggered")


def stages_of(nodes, gpus):
    whole = CATALOGUE["all_reduce", "hierarchical"](nranks=nodes * gpus, gpus=gpus)
    cuts = (0, gpus - 1, gpus - 1 + 2 * (nodes - 1), len(whole.steps))
    return [replace(whole, collective=None, algorithm=None, steps=whole.steps[a:b]) for a, b in pairwise(cuts)]


def test_the_solution_has_both_at_work():
    assert overlapped(halves, NETWORK).passed
    assert overlapped(SOLVED["my_all_reduce"], NETWORK).passed


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            lambda n, g: CATALOGUE["all_reduce", "hierarchical"](n * g, gpus=g),
            "takes 1.00 of the time of the three stages",
        ),
        (lambda n, g: halves(n, g, staggered=False), "takes 1.00 of the time"),
        (lambda n, g: CATALOGUE["all_reduce", "ring"](n * g), "it is right and takes 5"),
        (lambda n, g: replace(halves(n, g), steps=halves(n, g).steps[:-1]), "holds"),
        (lambda n, g: CATALOGUE["all_reduce", "nvls"](n * g), "without switches"),
    ],
)
def test_halves_that_do_not_overlap_are_refused(wrong, says):
    answer = overlapped(wrong, NETWORK)
    assert not answer.passed and re.search(says, str(answer)), answer


def test_without_a_nic_port_of_its_own_nothing_overlaps():
    """On plain Nodes a GPU's one port sends both in turn: the checker is told the network, and believes it."""
    assert not overlapped(halves, Nodes(8, NETWORK.inside, NETWORK.across)).passed
