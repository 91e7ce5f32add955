"""Who moves: the rule of NCCL's source, a product beside a collective counted tile by tile, and every order of a put and its signal."""

import itertools
import math
import random

import pytest

from helpers.facts import public
from helpers.nccl.movers import (
    COLLECTIVES,
    ENGINES,
    MOVERS,
    POLICIES,
    HandoverError,
    beside,
    check_handover,
    even,
    held,
    persistent,
    registered_blocks,
    symmetric_blocks,
    who_moves,
)

BOOLS = (False, True)


def test_a_mover_is_made_of_engines():
    assert len(MOVERS) == 7
    for one in MOVERS.values():
        assert set(one.touches) <= set(ENGINES) and one.orders in ENGINES and one.adds in ("", *one.touches)
        assert one.across == ("NIC" in one.touches)
        assert (one.adds == "switch") == one.name.lower().endswith("switch adds")


def test_only_what_touches_sms_holds_them():
    free = {name for name, one in MOVERS.items() if not one.holds_sms}
    assert free == {"copy engine", "proxy and NIC", "GPU-initiated NIC"}
    assert not any(MOVERS[name].adds for name in free), "what adds on a GPU is a kernel"


def test_no_copy_engine_adds_or_broadcasts():
    for name in ("all_reduce", "reduce_scatter", "reduce", "broadcast"):
        for policy, across, blackwell in itertools.product(POLICIES, BOOLS, BOOLS):
            assert "copy engine" not in who_moves(name, policy, True, True, across, blackwell, 2**30)


def test_blocks_are_those_of_nccl_s_source_and_of_the_published_runs():
    """nvls.cc: 32 / 8 and 40 / 8 on Hopper, 48 / 8 on Blackwell; all_reduce 32 / 8 and 64 / 8. sym_kernels.cc: 16 / 8, as 8 H20 took."""
    assert [registered_blocks(name, 8) for name in ("all_gather", "reduce_scatter")] == [4, 5]
    assert [registered_blocks(name, 8, blackwell=True) for name in ("all_gather", "reduce_scatter")] == [4, 6]
    assert [registered_blocks("all_reduce", 8, blackwell) for blackwell in (False, True)] == [4, 8]
    assert registered_blocks("reduce_scatter", 3) == 14, "rounded up"
    assert symmetric_blocks(8) == public("fsdp-8xh20-symmetric").rows[1]["blocks"]
    assert [symmetric_blocks(n, blackwell=True) for n in (3, 4, 8)] == [11, 8, 4]


@pytest.mark.parametrize(("name", "nranks"), [("broadcast", 8), ("all_gather", 1), ("", 2)])
def test_blocks_of_what_is_not_refused(name, nranks):
    with pytest.raises(ValueError, match="got"):
        registered_blocks(name, nranks) if name else symmetric_blocks(nranks)


@pytest.mark.parametrize(
    ("case", "movers"),
    [
        ({"collective": "all_gather"}, ("SM kernel",)),
        ({"collective": "all_gather", "policy": "ZERO"}, ("SM kernel",)),  # no window: the setting does nothing
        ({"collective": "all_gather", "policy": "ZERO", "recv_window": True}, ("copy engine",)),
        ({"collective": "all_gather", "policy": "ZERO", "send_window": True}, ("SM kernel",)),
        ({"collective": "all_gather", "policy": "EFFICIENCY", "recv_window": True}, ("SM kernel",)),
        ({"collective": "scatter", "policy": "ZERO", "recv_window": True}, ("copy engine",)),
        ({"collective": "gather", "policy": "ZERO", "recv_window": True}, ("copy engine",)),
        (
            {"collective": "all_gather", "policy": "ZERO", "recv_window": True, "across": True},
            ("SM kernel", "SM kernel, proxy and NIC"),  # across the network both buffers have to be windows
        ),
        (
            {"collective": "all_to_all", "policy": "ZERO", "send_window": True, "recv_window": True, "across": True},
            ("copy engine", "proxy and NIC"),
        ),
        (
            {"collective": "gather", "policy": "ZERO", "send_window": True, "recv_window": True, "across": True},
            ("SM kernel", "SM kernel, proxy and NIC"),
        ),
        ({"collective": "all_gather", "recv_window": True, "blackwell": True, "count": 2**23 + 1}, ("copy engine",)),
        ({"collective": "all_gather", "recv_window": True, "blackwell": True, "count": 2**23}, ("SM kernel",)),
        ({"collective": "all_to_all", "recv_window": True, "blackwell": True, "count": 2**30}, ("SM kernel",)),
    ],
)
def test_the_rule_of_the_source(case, movers):
    assert who_moves(**case) == movers
    assert set(movers) <= set(MOVERS)


def test_unknown_names_are_told_with_those_there_are():
    with pytest.raises(ValueError, match=r"unknown collective 'allgather': expected one of all_reduce, all_gather"):
        who_moves("allgather")
    with pytest.raises(ValueError, match=r"unknown policy 'zero': expected one of DEFAULT, EFFICIENCY, ZERO"):
        who_moves("all_gather", "zero")
    assert len(COLLECTIVES) == 8


def slowly(tiles, tile, sms, taken, until):
    """The same by looking for the first free SM each time."""
    free = [0.0] * (sms - taken) + [until] * taken
    end = 0.0
    for _ in range(tiles):
        first = min(range(sms), key=free.__getitem__)
        free[first] += tile
        end = free[first]
    return end


def test_tiles_go_to_the_first_free_sm():
    random.seed(7)
    for _ in range(300):
        sms = random.randint(1, 12)
        case = random.randint(1, 60), random.randint(1, 9), sms, random.randint(0, sms), random.randint(0, 40)
        assert beside(*case) == slowly(*case), case


def test_alone_it_is_whole_rounds_of_tiles():
    for tiles, sms in itertools.product((1, 131, 132, 133, 2048), (1, 108, 132)):
        assert beside(tiles, 1, sms) == math.ceil(tiles / sms)


def test_a_block_for_each_sm_takes_two_rounds_when_one_sm_is_taken():
    for taken in (1, 24, 131):
        assert persistent(1.0, 132, 132, taken, 200.0) == math.ceil(132 / (132 - taken))
    assert persistent(1.0, 132, 132, 0, 0.0) == 1.0
    assert persistent(1.0, 132, 108, 24, 100.0) == pytest.approx(132 / 108), (
        "told of the others it takes one longer round"
    )
    assert persistent(1.0, 132, 132, 24, 0.25) == 1.25, "those that waited begin when the collective ends"


def test_many_small_tiles_come_near_the_even_limit():
    for taken, until in ((24, 0.4), (24, 9.0), (16, 1.0), (1, 0.0)):
        tiles = 132 * 500
        assert beside(tiles, 132 / tiles, 132, taken, until) == pytest.approx(even(1.0, 132, taken, until), rel=4e-3)


def test_every_sm_and_every_tile_is_told_once():
    for tiles, taken, until in ((132, 24, 5.0), (2048, 24, 5.0), (2048, 0, 0.0), (7, 0, 0.0)):
        told = held(tiles, 1.0, 132, taken, until)
        product = [one for one in told if one.rounds]
        assert sum(one.sms * one.rounds for one in product) == tiles
        assert sum(one.sms for one in product) <= 132
        assert [one.sms for one in told if not one.rounds] == [taken] * bool(taken)
        assert all(one.end - one.start == one.rounds for one in product)


def test_more_sms_taken_or_for_longer_is_never_quicker():
    for tiles in (100, 132, 2048):
        times = [beside(tiles, 1, 132, taken, 50) for taken in range(0, 132, 6)]
        assert times == sorted(times)
        times = [beside(tiles, 1, 132, 24, until) for until in range(40)]
        assert times == sorted(times)


@pytest.mark.parametrize("bad", [(0, 1, 132), (1, 1, 0), (1, 1, 132, 133), (1, -1, 132), (1, 1, 132, 2, -1)])
def test_what_cannot_be_is_refused(bad):
    with pytest.raises(ValueError, match=r"got"):
        beside(*bad)


def sender(messages, slots):
    steps = []
    for message in range(messages):
        steps += (["wait"] if message >= slots else []) + ["put", "signal"]
    return steps


@pytest.mark.parametrize(("messages", "slots"), list(itertools.product((1, 2, 3, 4, 5), (1, 2, 3))))
def test_a_sound_sender_is_sound_in_every_order(messages, slots):
    assert check_handover(sender(messages, slots), messages, slots) > 6 * messages


@pytest.mark.parametrize(
    ("steps", "slots", "says"),
    [
        (["signal", "put"], 1, "it finds nothing"),
        (["put", "signal", "put", "signal"], 1, "first half of read 0: it finds message 1"),
        (["put", "put", "signal"], 1, "it finds message 1"),
        (["put", "put", "signal"], 2, "nobody goes on"),
        (["wait", "put", "signal"], 1, "At the start. Now nobody goes on"),
        (["put", "signal", "wait", "wait", "put", "signal"], 1, "nobody goes on"),
        (["put", "signal", "put", "wait", "signal"], 1, "it finds message 1"),
        (["put", "signal", "read"], 1, "'read' is no step of a sender"),
        (["signal"], 1, "expected a put for each of 1 messages, got 0"),
    ],
)
def test_an_unsound_one_is_told_by_its_shortest_story(steps, slots, says):
    with pytest.raises(HandoverError, match=says):
        check_handover(steps, max(1, steps.count("put")), slots)


@pytest.mark.parametrize(("messages", "slots"), [(0, 1), (1, 0)])
def test_no_messages_or_slots_are_refused(messages, slots):
    with pytest.raises(ValueError, match="1 message and 1 slot or more"):
        check_handover(["put", "signal"], messages, slots)
