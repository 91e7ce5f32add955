"""The ports and clocks of an emulated network, without ranks: exact, and for every schedule what `price` charges."""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import pytest

from helpers.collectives import CATALOGUE, price
from helpers.facts import Link
from helpers.ranks.network.ports import MEETING, PROMPT, Clock, Ports, Wires
from helpers.units import MIB, Bandwidth


def link(alpha: float, rate: float) -> Link:
    return Link(alpha, Bandwidth(rate, "one way", "GPU", "fitted"))


class Uneven:
    """A topology in which every pair of ranks has a link of its own."""

    def link(self, src: int, dst: int) -> Link:
        return link(0.001 * (1 + src) + 0.01 * dst, 1e6 * (1 + 3 * src + dst))


def network(folder: Path, nranks: int, topology: object) -> list[Ports]:
    """Every rank's view of one network at rest."""
    costs = Wires.of(topology, nranks).costs
    return [Ports(costs[rank], folder / "ports") for rank in range(nranks)]


@pytest.fixture
def three(tmp_path) -> list[Ports]:
    """Three ranks; a message of n bytes costs 1 + n seconds."""
    return network(tmp_path, 3, link(1.0, 1.0))


def test_a_message_alone_takes_alpha_and_its_bytes(three):
    assert three[0].book(1, 4, now=10.0) == (15.0, 15.0)


def test_messages_queue_at_the_senders_port(three):
    assert three[0].book(1, 4, now=10.0) == (15.0, 15.0)
    assert three[0].book(2, 2, now=11.0) == (18.0, 18.0)


def test_messages_of_several_senders_queue_at_the_receivers_port(three):
    assert three[0].book(2, 4, now=10.0) == (15.0, 15.0)
    left, due = three[1].book(2, 2, now=10.0)
    assert (left, due) == (13.0, 18.0), "it has left its sender long before it is through the receiver's port"


def test_both_directions_of_a_rank_are_free_of_each_other(three):
    assert three[0].book(1, 4, now=10.0) == three[1].book(0, 4, now=10.0) == (15.0, 15.0)


def test_a_port_that_rests_has_nothing_saved_up(three):
    three[0].book(1, 4, now=10.0)
    assert three[0].book(1, 4, now=100.0) == (105.0, 105.0)


@pytest.mark.parametrize("nranks", [2, 3, 4, 7])
@pytest.mark.parametrize("topology", [link(5e-3, 1e8), Uneven()], ids=["even", "uneven"])
def test_every_step_of_the_catalogue_lasts_as_long_as_its_price_in_any_order(tmp_path, nranks, topology):
    shuffled = random.Random(nranks)
    for number, build in enumerate(CATALOGUE.values()):
        s = build(nranks=nranks)
        if s.nswitches:  # no rank's port, so nothing to book
            continue
        chunk = MIB * nranks // (nranks if s.collective == "all_to_all" else s.nchunks)
        for step, priced in zip(s.steps, price(s, MIB * nranks, topology).steps, strict=True):
            folder = tmp_path / f"{number}"
            folder.mkdir(exist_ok=True)
            (folder / "ports").unlink(missing_ok=True)
            views = network(folder, nranks, topology)
            messages = {pair: len(list(ts)) for pair, ts in itertools.groupby(sorted(step), key=lambda t: t[:2])}
            order = shuffled.sample(sorted(messages), len(messages))
            ends = [views[src].book(dst, chunk * messages[src, dst], now=0.0)[1] for src, dst in order]
            assert max(ends) == pytest.approx(priced.seconds, rel=1e-12), f"{s.collective} {s.algorithm}"


def test_all_ranks_leave_a_barrier_at_one_moment_also_when_one_is_at_the_next_already(three):
    first = [ports.arrive(now) for ports, now in zip(three, (1.0, 5.0, 2.0), strict=True)]
    early = three[0].leave(first[0])
    three[0].arrive(9.0)
    assert early == 5.0 + MEETING and [three[r].leave(first[r]) for r in (1, 2)] == [early] * 2


def test_a_topology_becomes_plain_numbers():
    wires = Wires.of(Uneven(), 3)
    assert wires.costs[1][2] == (Uneven().link(1, 2).alpha, Uneven().link(1, 2).beta)
    assert wires.costs[1][2] != wires.costs[2][1] and [wires.costs[r][r] for r in range(3)] == [(0.0, 0.0)] * 3


def test_what_follows_a_late_wake_up_at_once_counts_as_on_time(monkeypatch):
    clock, machine = Clock(), Machine(late=0.004)
    machine.patch(monkeypatch)
    clock.wait_until(5.0)
    assert machine.now == 5.004 and clock.now() == pytest.approx(5.0)
    machine.now += 0.001
    assert clock.now() == pytest.approx(5.001)
    machine.now += PROMPT
    assert clock.now() == machine.now, "what comes later has itself to blame"


def test_a_wake_up_that_is_very_late_is_forgiven_up_to_a_bound(monkeypatch):
    clock, machine = Clock(), Machine(late=0.3)
    machine.patch(monkeypatch)
    clock.wait_until(6.0)
    assert machine.now == 6.3 and clock.now() == pytest.approx(6.3 - PROMPT)
    clock.on_time()
    assert clock.now() == 6.3


def test_what_is_due_already_is_not_waited_for_nor_forgiven(monkeypatch):
    clock, machine = Clock(), Machine(late=0.1)
    machine.patch(monkeypatch)
    machine.now = 7.0
    clock.wait_until(5.0)
    assert machine.now == clock.now() == 7.0 and machine.naps == 0


def test_nothing_is_done_before_what_it_waited_for(monkeypatch):
    clock, machine = Clock(), Machine(late=0.5)
    machine.patch(monkeypatch)
    clock.wait_until(3.0)
    clock.on_time(together=3.0)
    clock.start()
    clock.wait_until(3.2)  # over when this rank woke
    assert clock.now() == pytest.approx(3.2)


def test_a_stopwatch_leaves_out_how_late_the_last_wake_up_came_but_not_what_was_over_by_then(monkeypatch):
    clock, machine = Clock(), Machine(late=0.004)
    machine.patch(monkeypatch)
    start = clock.start()
    clock.wait_until(2.0)
    assert clock.stop(start) == pytest.approx(2.0) and machine.now == 2.004
    machine.now = 3.0  # the machine itself is slower than the network
    clock.wait_until(2.5)
    assert clock.stop(start) == 3.0


def test_stopwatches_start_when_all_ranks_left_the_barrier(monkeypatch):
    clock, machine = Clock(), Machine(late=0.5)
    machine.patch(monkeypatch)
    clock.wait_until(3.0)
    clock.on_time(together=3.0)
    assert clock.now() == 3.5, "a reader's own clock starts here"
    start = clock.start()
    assert start == clock.now() == 3.0
    machine.now += 1.0
    assert clock.stop(start) == 1.5 and clock.start() == 4.5, "once: the next one has no barrier before it"


def test_while_a_schedule_is_played_time_passes_on_the_network_only(monkeypatch):
    clock, machine = Clock(), Machine(late=0.1)
    machine.patch(monkeypatch)
    machine.now = 1.0
    with clock.model():
        machine.now = 3.0  # slow Python
        assert clock.now() == 1.0
        clock.wait_until(2.0)  # over: no nap
        assert clock.now() == 2.0 and machine.naps == 0
        with clock.model():
            clock.wait_until(4.0)
        assert clock.now() == 4.0 and machine.naps == 1
        clock.wait_until(3.5)
        assert clock.now() == 4.0, "time does not run backwards"
    assert clock.now() == pytest.approx(machine.now - PROMPT), "the last wake-up was very late"


def test_a_nap_that_is_too_short_is_taken_again(monkeypatch):
    clock, machine = Clock(), Machine(late=-0.25)
    machine.patch(monkeypatch)
    clock.wait_until(2.0)
    assert machine.now >= 2.0 and machine.naps > 1


class Machine:
    """Time that passes only in `sleep`, which takes `late` longer than asked for."""

    def __init__(self, late: float):
        self.now, self.late, self.naps = 0.0, late, 0

    def patch(self, monkeypatch) -> None:
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.naps += 1
        self.now += max(seconds + self.late, 0.01)
