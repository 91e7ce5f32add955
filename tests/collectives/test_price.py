"""The alpha-beta price, against closed forms."""

import math
from types import SimpleNamespace

import pytest

from helpers.collectives import CATALOGUE, Schedule, ScheduleError, Transfer, crossover, price
from helpers.facts import LINKS

SIZES = [0, 1, 4096, 64 * 2**20, 10**9 + 7]
A, B = 1e-5, 1e-11
CLOSED = {
    ("all_reduce", "ring"): lambda n, s: 2 * (n - 1) * (A + s / n * B),
    ("reduce_scatter", "ring"): lambda n, s: (n - 1) * (A + s / n * B),
    ("all_gather", "ring"): lambda n, s: (n - 1) * (A + s / n * B),
    ("broadcast", "ring"): lambda n, s: (2 * n - 2) * (A + s / n * B),
    ("all_reduce", "flat"): lambda n, s: 2 * (n - 1) * (A + s * B),
    ("all_reduce", "binomial"): lambda n, s: 2 * math.ceil(math.log2(n)) * (A + s * B),
    ("broadcast", "binomial"): lambda n, s: math.ceil(math.log2(n)) * (A + s * B),
    ("all_to_all", "flat"): lambda n, s: (n - 1) * (A + s / n * B),
}


@pytest.mark.parametrize("key", CLOSED, ids="-".join)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 13, 64])
@pytest.mark.parametrize("nbytes", SIZES)
def test_closed_forms(key, n, nbytes, link):
    if key == ("all_to_all", "flat") and n == 64:
        n = 32
    cost = price(CATALOGUE[key](nranks=n), nbytes, link)
    assert cost.seconds == pytest.approx(CLOSED[key](n, nbytes), rel=1e-12, abs=1e-18)
    assert cost.seconds == pytest.approx(sum(step.seconds for step in cost.steps), rel=1e-12)


@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
def test_steps_of_one_kind_cost_the_same(key, link):
    """Only a network that is its own link everywhere is known to be equal; on another every step is looked at."""
    other = SimpleNamespace(link=lambda src, dst: link)
    for n in (1, 2, 5, 8):
        s = CATALOGUE[key](nranks=n)
        lopsided = Schedule(
            None, None, n, s.nchunks, s.steps[:1] + tuple(step[:-1] for step in s.steps if step[1:]), None, s.nswitches
        )
        for one in (s, lopsided.named(*key, s.root)):
            assert price(one, 2**20, link) == price(one, 2**20, other)


def test_equal_links_that_share_a_wire_are_looked_at_one_by_one(link):
    """The first step keeps off the wire that the second one, alike in all else, takes."""

    wired = SimpleNamespace(alpha=link.alpha, beta=link.beta, link=lambda src, dst: wired)
    wired.wires = lambda src, dst: [("slow", 9 * link.beta)] if dst == 1 else []
    s = Schedule(None, None, 3, 1, [[(0, 2, 0, "copy")], [(0, 1, 0, "copy")]]).named("broadcast", "mine", 0)
    first, second = price(s, 2**20, wired).steps
    assert second.transfer == pytest.approx(9 * first.transfer)


@pytest.mark.parametrize(
    ("collective", "factor"), [("all_reduce", 2 * 7 / 8), ("all_gather", 7 / 8), ("broadcast", 1.0)]
)
def test_algbw_and_busbw(collective, factor, link):
    cost = price(CATALOGUE[collective, "ring"](nranks=8), 2**30, link)
    assert cost.algbw == pytest.approx(2**30 / cost.seconds)
    assert cost.busbw == pytest.approx(cost.algbw * factor)


def test_busbw_of_a_large_ring_is_the_link(link):
    """That is what busbw is for: a perfect ring shows the one-way rate of the wire, at any P."""
    for n in (2, 4, 16, 64):
        assert price(CATALOGUE["all_reduce", "ring"](nranks=n), 10**15, link).busbw == pytest.approx(1 / B, rel=1e-4)


@pytest.mark.parametrize("nbytes", [64, 2**20, 2**30])
def test_a_price_goes_by_the_protocol_that_it_is_told_and_else_by_the_cheapest(nbytes):
    """Each is its own line, call once and alpha and beta for each of a ring's 14 steps."""
    s, typed = CATALOGUE["all_reduce", "ring"](nranks=8), LINKS["nvlink-4"]
    told = {one.protocol: price(s, nbytes, typed, protocol=one.protocol) for one in typed.protocols}
    for one in typed.protocols:
        assert told[one.protocol].seconds == pytest.approx(one.call + 14 * (one.alpha + nbytes / 8 * one.beta))
        assert (told[one.protocol].call, told[one.protocol].protocol) == (one.call, one.protocol)
    assert price(s, nbytes, typed) == min(told.values(), key=lambda cost: cost.seconds)
    with pytest.raises(ValueError, match=r"protocol must be one of LL, LL128, Simple, got 'll'"):
        price(s, nbytes, typed, protocol="ll")


def test_a_line_that_knows_no_protocol_is_the_same_under_each(link):
    s = CATALOGUE["all_reduce", "ring"](nranks=4)
    assert price(s, 4096, link, protocol="LL") == price(s, 4096, link) and price(s, 4096, link).protocol == ""


def test_a_switch_knows_one_protocol_and_no_other():
    s, typed = CATALOGUE["all_reduce", "nvls"](nranks=8), LINKS["nvlink-4"]
    assert price(s, 2**20, typed, protocol="Simple") == price(s, 2**20, typed)
    with pytest.raises(ValueError, match=r"protocol must be one of Simple, got 'LL'"):
        price(s, 2**20, typed, protocol="LL")


def test_a_single_rank_calls_nobody():
    """It has nothing to send, so nothing is launched, whatever a call costs."""
    cost = price(CATALOGUE["all_reduce", "ring"](nranks=1), 2**20, LINKS["nvlink-4"])
    assert (cost.seconds, cost.call, cost.steps) == (0.0, 0.0, ())


def test_chunks_between_two_ranks_are_one_message(link):
    two = Schedule("broadcast", "mine", 2, 2, [[Transfer(0, 1, 0), Transfer(0, 1, 1)]], root=0)
    assert price(two, 1000, link).seconds == pytest.approx(A + 1000 * B)


def test_the_busiest_port_decides(link):
    """Rank 0 sends to three at once: one port, so it pays three messages; and each receiver only one."""
    fan = Schedule("broadcast", "mine", 4, 1, [[Transfer(0, r, 0) for r in (1, 2, 3)]], root=0)
    assert price(fan, 1000, link).seconds == pytest.approx(3 * (A + 1000 * B))


def test_a_receive_port_can_be_the_busiest(link):
    """Three ranks send to rank 0 at once: each sender has one message, the receiver's port three."""
    step = [Transfer(r, 0, r, "copy") for r in (1, 2, 3)]
    into = Schedule("gather", "mine", 4, 4, [step], root=0)
    assert price(into, 4000, link).seconds == pytest.approx(3 * (A + 1000 * B))


def test_the_busiest_port_is_the_one_that_takes_longest():
    """Not the one with the larger alpha: 10 µs + 1 µs on one link, 1 µs + 100 µs on the other."""
    late, thin = SimpleNamespace(alpha=1e-5, beta=1e-9), SimpleNamespace(alpha=1e-6, beta=1e-7)
    mixed = SimpleNamespace(link=lambda src, dst: late if src == 0 else thin)
    step = price(CATALOGUE["all_gather", "flat"](nranks=2), 2000, mixed).steps[0]
    assert (step.alpha, step.transfer) == (pytest.approx(1e-6), pytest.approx(1e-4))


def test_a_topology_prices_each_link_by_itself():
    fast, slow = SimpleNamespace(alpha=1e-6, beta=1e-12), SimpleNamespace(alpha=1e-5, beta=1e-10)
    nodes = SimpleNamespace(link=lambda src, dst: fast if src // 2 == dst // 2 else slow)
    step = price(CATALOGUE["all_reduce", "ring"](nranks=4), 4000, nodes).steps[0]
    assert step.seconds == pytest.approx(1e-5 + 1000 * 1e-10)
    assert (step.alpha, step.transfer) == (pytest.approx(1e-5), pytest.approx(1000 * 1e-10))


@pytest.mark.parametrize("nbytes", [-1, math.inf, math.nan, "64 MiB", None, True])
def test_refuses_a_bad_size(nbytes, link):
    with pytest.raises(ScheduleError, match="nbytes must be a number of bytes >= 0"):
        price(CATALOGUE["all_reduce", "ring"](nranks=4), nbytes, link)


def test_refuses_an_unnamed_schedule(link):
    ring = CATALOGUE["all_reduce", "ring"](nranks=4)
    with pytest.raises(ScheduleError, match=r"call \.named"):
        price(ring + ring, 8, link)


@pytest.mark.parametrize("n", [4, 8, 13, 64])
def test_crossover_of_tree_and_ring(n, link):
    """2 ceil(log2 P)(alpha + S beta) = 2(P-1)(alpha + S beta / P), solved for S."""
    tree, ring = CATALOGUE["all_reduce", "binomial"](nranks=n), CATALOGUE["all_reduce", "ring"](nranks=n)
    rounds = math.ceil(math.log2(n))
    solved = A * (n - 1 - rounds) / (B * (rounds - (n - 1) / n))
    size = crossover(tree, ring, link)
    assert size == pytest.approx(solved, abs=1.01)
    assert price(ring, size, link).seconds <= price(tree, size, link).seconds
    assert price(ring, size - 1, link).seconds > price(tree, size - 1, link).seconds


def test_crossover_refuses_two_that_do_not_cross(link):
    tree, ring = CATALOGUE["all_reduce", "binomial"](nranks=2), CATALOGUE["all_reduce", "ring"](nranks=2)
    with pytest.raises(ScheduleError, match=r"do not cross between 1 and \d+ bytes on 2 ranks: the second is cheaper"):
        crossover(tree, ring, link)
    flat = CATALOGUE["all_reduce", "flat"](nranks=4)
    with pytest.raises(ScheduleError, match="the first is cheaper"):
        crossover(CATALOGUE["all_reduce", "binomial"](nranks=4), flat, link)


def test_crossover_tells_who_gives_the_two_the_wrong_way_round(link):
    tree, ring = (CATALOGUE["all_reduce", name](nranks=8) for name in ("binomial", "ring"))
    with pytest.raises(
        ScheduleError,
        match=r"^binomial is the cheaper at 1 byte and ring at \d+ .* crossover\(binomial, ring, \.\.\.\)$",
    ):
        crossover(ring, tree, link)


@pytest.mark.parametrize("n", [2, 8, 13])
def test_a_shot_of_messages_in_flight_pays_one_alpha(n, link):
    """One port for the bytes of all peers; a GPU's own addition is none of the network's."""
    one, two = (CATALOGUE["all_reduce", name](nranks=n) for name in ("one-shot", "two-shot"))
    size = 8 * n
    assert price(one, size, link, rule="in flight").seconds == pytest.approx(A + (n - 1) * size * B)
    assert price(two, size, link, rule="in flight").seconds == pytest.approx(2 * A + 2 * (n - 1) * size / n * B)
    assert price(one, size, link).seconds == pytest.approx(n * (A + size * B)), "by steps each waits for the one before"
    ring = CATALOGUE["all_reduce", "ring"](nranks=n)
    assert price(ring, size, link, rule="in flight").seconds == pytest.approx(price(ring, size, link).seconds)


def test_registers_are_no_switch_of_the_network():
    """One-shot once cost a call through NVLS: 31.0 µs for 64 KiB on eight H100, where loads from all peers pay 9.3."""
    one = CATALOGUE["all_reduce", "one-shot"](nranks=8)
    found = price(one, 2**16, LINKS["nvlink-4"], rule="in flight")
    line = LINKS["nvlink-4"].by("LL")
    assert (found.protocol, found.call) == ("LL", line.call) and found.seconds < 9.4e-6
    assert found.seconds == pytest.approx(line.call + line.alpha + 7 * 2**16 * line.beta)
    assert (
        price(CATALOGUE["all_reduce", "nvls"](nranks=8), 2**16, LINKS["nvlink-4"]).call == LINKS["nvlink-4"].switch.call
    )


def test_a_crossover_compares_each_by_its_cheapest_protocol():
    typed = LINKS["nvlink-4"]
    short, long = (CATALOGUE["all_reduce", name](nranks=8) for name in ("binomial", "ring"))
    size = crossover(short, long, typed)
    costs = {n: [price(s, n, typed) for s in (short, long)] for n in (size - 1, size)}
    assert costs[size][1].seconds <= costs[size][0].seconds and costs[size - 1][0].seconds < costs[size - 1][1].seconds
    assert {cost.protocol for cost in costs[size]} != {"Simple"}, "with Simple alone they would cross elsewhere"
