"""A schedule as a value: what it refuses, its algebra, its text."""

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.collectives import CATALOGUE, Schedule, ScheduleError, Transfer, beside, check

RING = CATALOGUE["all_reduce", "ring"]


def build(*steps, nranks=3, nchunks=3, **kwargs):
    return Schedule("all_reduce", "mine", nranks, nchunks, steps, **kwargs)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([[Transfer(3, 0, 0)]], r"src must lie in 0\.\.2, got 3 in step 1"),
        ([[Transfer(0, -1, 0)]], r"dst must lie in 0\.\.2, got -1"),
        ([[Transfer(0, 1, 7)]], r"chunk must lie in 0\.\.2, got 7"),
        ([[Transfer(0, 1, 0.0)]], r"chunk must lie in 0\.\.2, got 0\.0"),
        ([[Transfer(0, 1, 0, "max")]], r"op must be \"copy\" or \"reduce\", got 'max'"),
        ([[Transfer(1, 1, 0)]], "rank 1 sends chunk 0 to itself in step 1"),
        ([[Transfer(0, 1, 0)], []], "step 2 sends nothing"),
        ([[Transfer(0, 2, 1), Transfer(1, 2, 1)]], "step 1 writes chunk 1 of rank 2 twice"),
        ([[Transfer(0, 2, 1, "reduce"), Transfer(1, 2, 1, "reduce")]], "one writer per slot and step"),
        ([[Transfer(0, 2, 1)] * 2], r"twice \(1:0→2 and 1:0→2\)"),
    ],
)
def test_refuses(steps, says):
    with pytest.raises(ScheduleError, match=says):
        build(*steps)


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"nranks": 0}, "nranks must be a whole number >= 1, got 0"),
        ({"nranks": 2.0}, "nranks must be a whole number >= 1, got 2.0"),
        ({"nranks": True}, "got True"),
        ({"nchunks": 0}, "nchunks must be a whole number >= 1, got 0"),
        ({"root": 3}, r"root must lie in 0\.\.2, got 3"),
    ],
)
def test_refuses_sizes(kwargs, says):
    with pytest.raises(ScheduleError, match=says):
        build(**kwargs)


@pytest.mark.parametrize("nranks", [0, -1, "4", 2.5, None])
@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
def test_builders_refuse_a_bad_nranks(key, nranks):
    with pytest.raises(ScheduleError, match="nranks must be a whole number >= 1"):
        CATALOGUE[key](nranks=nranks)


@pytest.mark.parametrize(
    "key", [k for k in CATALOGUE if k[0] in ("broadcast", "reduce", "scatter", "gather")], ids="-".join
)
def test_rooted_builders_refuse_a_bad_root(key):
    with pytest.raises(ScheduleError, match=r"root must lie in 0\.\.3, got 4"):
        CATALOGUE[key](nranks=4, root=4)


def test_a_switch_may_be_added_into_by_many_at_once():
    step = [Transfer(r, 3, 0, "reduce") for r in range(3)]
    with pytest.raises(ScheduleError, match=r"dst must lie in 0\.\.2, got 3"):
        build(step, nchunks=1)
    check(build(step, [Transfer(3, r, 0) for r in range(3)], nchunks=1, nswitches=1))


@pytest.mark.parametrize(
    "name", ["two rings", "", "-", 3, "a\nb", 'a"b', "a'b", "a\\b", "_a", "a(b)", "größe", "a\u202eb", 65 * "a"]
)
def test_a_name_is_one_plain_word(name):
    """Else the text form could not be read back, nor a link or a copied cell hold it."""
    with pytest.raises(ScheduleError, match="algorithm must be one word"):
        RING(4).named("all_reduce", name)


@pytest.mark.parametrize("text", ["all_reduce a nranks=٢ nchunks=1 root=-", f"{RING(2)}\n٠:0⇒1"])
def test_a_number_is_written_in_plain_digits(text):
    """As the page reads it: another script's digits, which int() takes, are none."""
    with pytest.raises(ScheduleError, match=r"the first line reads|a transfer is written"):
        Schedule.parse(text)


def test_is_a_value():
    assert RING(4) == RING(4) != RING(5)
    assert len({RING(4), RING(4)}) == 1
    with pytest.raises(FrozenInstanceError):
        RING(4).nranks = 5
    assert Schedule("all_reduce", "mine", 2, 1, [[(0, 1, 0, "reduce")]]).steps == ((Transfer(0, 1, 0, "reduce"),),)


@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
@pytest.mark.parametrize("nranks", [1, 2, 3, 8, 13])
def test_text_round_trip(key, nranks):
    schedule = CATALOGUE[key](nranks=nranks)
    assert Schedule.parse(str(schedule)) == schedule


def test_text_is_what_the_course_prints():
    text = """all_reduce ring nranks=3 nchunks=3 root=-
2:0⇒1 0:1⇒2 1:2⇒0
1:0⇒1 2:1⇒2 0:2⇒0
0:0→1 1:1→2 2:2→0
2:0→1 0:1→2 1:2→0"""
    assert str(RING(3)) == text


@given(st.data())
def test_text_round_trip_of_any_schedule(data):
    nranks, nchunks = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 9))
    ids = st.tuples(st.integers(0, nranks - 1), st.integers(0, nranks - 1), st.integers(0, nchunks - 1))
    transfer = st.builds(
        lambda i, op: Transfer(*i, op), ids.filter(lambda i: i[0] != i[1]), st.sampled_from(["copy", "reduce"])
    )
    step = st.lists(transfer, min_size=1, max_size=5, unique_by=lambda t: (t.dst, t.chunk)).map(tuple)
    root = data.draw(st.none() | st.integers(0, nranks - 1))
    name = data.draw(st.sampled_from([None, "all_reduce", "broadcast"]))
    schedule = Schedule(name, name and "mine", nranks, nchunks, tuple(data.draw(st.lists(step, max_size=5))), root)
    assert Schedule.parse(str(schedule)) == schedule


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the first line reads"),
        ("all_reduce ring nranks=3", "the first line reads"),
        ("all_reduce ring nranks=3 nchunks=3 root=-\n2:0>1", "a transfer is written"),
        ("all_reduce ring nranks=3 nchunks=3 root=-\n2:0⇒9", "dst must lie in"),
    ],
)
def test_parse_refuses(text, says):
    with pytest.raises(ScheduleError, match=says):
        Schedule.parse(text)


def test_plus_is_then_and_forgets_the_collective():
    both = CATALOGUE["reduce_scatter", "ring"](4) + CATALOGUE["all_gather", "ring"](4)
    assert (both.collective, both.algorithm) == (None, None)
    with pytest.raises(ScheduleError, match=r"call \.named"):
        check(both)
    assert both.named("all_reduce", "ring") == RING(4)


def test_plus_is_associative():
    a, b, c = (RING(3).named(None, None) for _ in range(3))
    assert (a + b) + c == a + (b + c)


def test_plus_and_or_want_equal_sizes():
    with pytest.raises(ScheduleError, match="nranks is 3 in one schedule and 4 in the other"):
        RING(3) + RING(4)
    with pytest.raises(ScheduleError, match="nchunks is 4 in one schedule and 1 in the other"):
        RING(4) | CATALOGUE["all_reduce", "flat"](4)
    with pytest.raises(ScheduleError, match="a schedule is composed with a schedule, got 3"):
        RING(3) + 3


def test_or_is_beside_and_wants_disjoint_slots():
    """Two rings on half of the buffer each, going opposite ways round: half the bytes per direction, one promise."""
    n = 5
    clockwise = RING(n).on(range(n), n, chunks=range(n), nchunks=2 * n)
    back = RING(n).on([-r % n for r in range(n)], n, chunks=range(n, 2 * n), nchunks=2 * n)
    both = (clockwise | back).named("all_reduce", "two-rings")
    check(both)
    assert len(both.steps) == 2 * (n - 1)
    assert len(both.steps[0]) == 2 * n
    with pytest.raises(ScheduleError, match="disjoint slots, but both schedules use chunk 0 of rank 0"):
        clockwise | clockwise


def test_or_pads_the_shorter_one():
    one = build([Transfer(0, 1, 0)]) | build([Transfer(1, 0, 1)], [Transfer(0, 2, 1)])
    assert [len(step) for step in one.steps] == [2, 1]


def test_on_builds_a_hierarchy():
    """Two nodes of two: reduce-scatter inside, all-reduce across, all-gather inside."""
    rs, ar, ag = (CATALOGUE[c, "ring"](2) for c in ("reduce_scatter", "all_reduce", "all_gather"))
    inner = [[0, 1], [2, 3]]
    blocks = [(0, 1), (2, 3)]  # the ring of two splits a buffer of four chunks in two blocks
    inside = [s.on(ranks, 4, [block[k] for block in blocks], 4) for s in (rs, ag) for ranks in inner for k in (0, 1)]
    across = [ar.on([r, r + 2], 4, blocks[r], 4) for r in (0, 1)]
    whole = (inside[0] | inside[1] | inside[2] | inside[3]) + (across[0] | across[1])
    check((whole + (inside[4] | inside[5] | inside[6] | inside[7])).named("all_reduce", "hierarchical"))


def test_on_makes_room_for_the_chunks_it_is_given():
    outer = RING(3).on([4, 2, 0], 5, chunks=[1, 7, 3])
    assert (outer.nranks, outer.nchunks) == (5, 8)
    assert outer.slots() == {(rank, chunk) for rank in (0, 2, 4) for chunk in (1, 3, 7)}


@pytest.mark.parametrize("ranks", [[0, 1], [0, 0, 1], [0, 1, 9]])
def test_on_refuses(ranks):
    with pytest.raises(ScheduleError):
        RING(3).on(ranks, 5)


def test_sent_and_received():
    assert RING(4).sent() == RING(4).received() == [6] * 4
    assert CATALOGUE["broadcast", "flat"](4).sent() == [3, 0, 0, 0]


def test_beside_is_or_for_many():
    parts = [CATALOGUE["broadcast", "flat"](2).on([2 * k, 2 * k + 1], 8) for k in range(4)]
    together = beside(*parts)
    assert together == parts[0] | parts[1] | parts[2] | parts[3]
    assert [len(step) for step in together.steps] == [4]
    with pytest.raises(ScheduleError, match="disjoint slots, but both schedules use chunk 0 of rank 2"):
        beside(*parts, parts[1])


def test_cut_moves_the_pieces_of_a_chunk_together():
    halves = CATALOGUE["all_gather", "ring"](3).cut(2)
    assert halves.nchunks == 6 and halves.steps[0][:2] == (Transfer(0, 1, 0), Transfer(0, 1, 1))
    check(halves.named("all_gather", "ring"))
    with pytest.raises(ScheduleError, match="pieces must be a whole number >= 1, got 0"):
        RING(3).cut(0)


def test_backwards_turns_a_broadcast_into_a_reduce():
    for algorithm in ("flat", "binomial", "binary-tree"):
        down = CATALOGUE["broadcast", algorithm](6, root=2)
        check(down.backwards("reduce").named("reduce", algorithm, 2))
    out = CATALOGUE["scatter", "binomial"](6)
    assert out.backwards("copy").backwards("copy").steps == out.steps
    check(out.backwards("copy").named("gather", "binomial", 0))
