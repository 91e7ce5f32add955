"""The allocator's rules one by one, on hand-made programs with exact bytes."""

import pytest

from helpers.memory import CLASSES, Event, Trace, TraceError
from helpers.memory.allocator import Allocator, OutOfMemory, Rules, program, replay, segment_size
from helpers.memory.allocator.errors import size_text
from helpers.units import KIB, MIB


def shape(segment):
    """A segment as (MiB taken or -MiB free) of its blocks."""
    return [(1 if block.block >= 0 else -1) * block.size / MIB for block in segment.blocks]


@pytest.mark.parametrize("nbytes, block", [(1, 512), (512, 512), (513, 1024), (1000, 1024), (MIB + 1, MIB + 512)])
def test_a_request_is_rounded_up_to_512_bytes(nbytes, block):
    made = replay(program(f"a = {nbytes}"))
    assert made.peak_allocated == block
    assert made.segments()[0].blocks[0].requested == nbytes


def test_a_tensor_of_no_bytes_gets_no_block():
    made = replay(program("a = 0; del a"))
    assert (made.peak_reserved, made.device_calls) == (0, 0)


@pytest.mark.parametrize(
    "nbytes, segment, pool",
    [
        (512, 2 * MIB, "small"),
        (MIB, 2 * MIB, "small"),
        (MIB + 512, 20 * MIB, "large"),
        (10 * MIB - 512, 20 * MIB, "large"),
        (10 * MIB, 10 * MIB, "large"),
        (10 * MIB + 512, 12 * MIB, "large"),
        (21 * MIB, 22 * MIB, "large"),
    ],
)
def test_the_segment_that_a_first_request_opens(nbytes, segment, pool):
    (found,) = replay(program(f"a = {nbytes}")).segments()
    assert (found.size, found.pool) == (segment, pool)
    assert segment_size(nbytes) == segment


def test_small_blocks_are_split_down_to_512_bytes_and_large_ones_only_if_more_than_a_mebibyte_is_left():
    made = replay(program(f"a = {2 * MIB - 512 - MIB}; b = 1 MiB"))
    assert [block.size for block in made.segments()[0].blocks] == [MIB - 512, MIB, 512]
    whole = replay(program("a = 12 MiB; del a; b = 11 MiB"))  # 1 MiB left: not split, so all 12 MiB count as allocated
    assert (whole.allocated[-1], whole.reserved[-1]) == (12 * MIB, 12 * MIB)
    cut = replay(program(f"a = 12 MiB; del a; b = {11 * MIB - 512}"))
    assert cut.allocated[-1] == 11 * MIB - 512
    assert shape(cut.segments()[0]) == [(11 * MIB - 512) / MIB, -(MIB + 512) / MIB]


def test_the_smallest_block_that_fits_is_taken_and_of_equals_the_lowest():
    made = replay(program("a = 40 MiB; b = 16 MiB; c = 24 MiB; del a, b, c; d = 15 MiB"))
    assert [shape(segment) for segment in made.segments()] == [[-40], [16], [-24]]  # 1 MiB is not cut off
    made = replay(program("a = 12 MiB; b = 12 MiB; c = 12 MiB; del c, b, a; d = 12 MiB"))
    assert [shape(segment) for segment in made.segments()] == [[12], [-12], [-12]]


def test_neighbours_that_become_free_are_one_block_again():
    made = replay(program("a = 4 MiB; b = 4 MiB; c = 4 MiB; del a; del c; del b"))
    assert [shape(made.segments(i)[0]) for i in (3, 4, 5)] == [[-4, 4, 4, -8], [-4, 4, -12], [-20]]


def test_blocks_of_two_segments_never_join():
    made = replay(program("a = 10 MiB; b = 10 MiB; del a, b; c = 20 MiB"))
    assert [segment.size for segment in made.segments()] == [10 * MIB, 10 * MIB, 20 * MIB]


def test_the_pools_do_not_lend_to_each_other():
    made = replay(program("a = 3 MiB; del a; b = 1 MiB; del b; c = 1.5 MiB"))
    assert [(segment.pool, shape(segment)) for segment in made.segments()] == [
        ("large", [1.5, -18.5]),
        ("small", [-2]),
    ]


def test_empty_cache_gives_back_whole_segments_only():
    made = replay(program("a = 12 MiB; b = 3 MiB; c = 3 MiB; del a, b; empty_cache()"))
    assert made.reserved[-1] == 20 * MIB
    assert [action.action for action in made.during(len(made) - 1)] == ["segment_free"]
    assert made.measure() == (3 * MIB, 3 * MIB, 20 * MIB, 0, 17 * MIB, 14 * MIB, 17 * MIB, 1 - 14 / 17)


def test_before_it_gives_up_it_empties_the_cache_and_asks_again():
    made = replay(program("a = 12 MiB; del a; b = 14 MiB"), limit=20 * MIB)
    assert [action.action for action in made.during(2)] == ["segment_free", "segment_alloc", "alloc"]
    assert (made.retries, made.reserved[-1]) == (1, 14 * MIB)


def test_out_of_memory_with_memory_free_says_how_much_and_in_which_pieces():
    holes = "a = 5 MiB; b = 5 MiB; c = 6 MiB; d = 4 MiB; e = 20 MiB; del a, c; f = 10 MiB"
    with pytest.raises(OutOfMemory) as raised:
        replay(program(holes), limit=44 * MIB)
    error = raised.value
    assert (error.requested, error.wanted, error.free) == (10 * MIB, 10 * MIB, 4 * MIB)
    assert (error.allocated, error.reserved, error.unallocated) == (29 * MIB, 40 * MIB, 11 * MIB)
    assert error.largest_free == 6 * MIB
    assert error.replay.reserved[-1] == error.reserved
    assert "Tried to allocate 10.00 MiB" in str(error)
    assert "11.00 MiB is reserved but unallocated" in str(error)


def test_the_message_names_the_segment_not_the_tensor():
    with pytest.raises(OutOfMemory, match=r"allocate 20.00 MiB for a tensor of 1.50 MiB") as raised:
        replay(program("a = 12 MiB; b = 1.5 MiB"), limit=24 * MIB)
    assert (raised.value.requested, raised.value.wanted, raised.value.free) == (1.5 * MIB, 20 * MIB, 12 * MIB)


def test_without_raising_the_replay_ends_at_the_event_that_found_no_memory():
    made = replay(program("a = 12 MiB; b = 12 MiB; c = 1 KiB"), limit=20 * MIB, raises=False)
    assert (len(made), made.oom.requested, made.actions[-1].action) == (2, 12 * MIB, "oom")
    assert made.fragmentation.reserved == 12 * MIB


def test_an_expandable_segment_grows_by_pages_and_takes_what_a_fixed_one_cannot():
    text = "a = 30 MiB; b = 30 MiB; del a, b; c = 60 MiB"
    fixed, grown = replay(program(text)), replay(program(text), expandable=True)
    assert (fixed.peak_reserved, grown.peak_reserved) == (120 * MIB, 60 * MIB)
    (segment,) = grown.segments()
    assert (segment.expandable, shape(segment)) == (True, [60])
    assert [a.size for a in grown.actions if a.action == "segment_map"] == [40 * MIB, 20 * MIB]


def test_a_small_expandable_segment_has_pages_of_2_mib():
    made = replay(program("a = 1 MiB; b = 1 MiB; c = 512"), expandable=True)
    assert made.reserved.tolist() == [2 * MIB, 2 * MIB, 4 * MIB]
    assert [a.size for a in made.actions if a.action == "segment_map"] == [2 * MIB, 2 * MIB]


def test_expandable_blocks_are_always_split():
    made = replay(program("a = 12 MiB; b = 7.5 MiB"), expandable=True)
    assert shape(made.segments()[0]) == [12, 7.5, -0.5]


def test_pages_that_are_wholly_free_go_back_and_are_mapped_again_at_the_lowest_address():
    text = "a = 50 MiB; b = 10 MiB; del a; empty_cache(); c = 45 MiB"
    made = replay(program(text), expandable=True)
    assert made.reserved[3] == 20 * MIB  # of 60 MiB two pages were empty, the third holds b
    assert shape(made.segments(3)[0]) == [-10, 10]
    assert [shape(segment) for segment in made.segments()] == [[45, -5, 10]]
    assert replay(program("a = 50 MiB; del a; empty_cache()"), expandable=True).segments() == []


def test_a_device_without_room_for_another_page_unmaps_empty_ones_first():
    text = "a = 30 MiB; b = 30 MiB; del a; c = 40 MiB"
    made = replay(program(text), expandable=True, limit=80 * MIB)
    assert (made.retries, made.reserved[-1]) == (1, 80 * MIB)
    assert [shape(segment) for segment in made.segments()] == [[-10, 30, 40]]
    with pytest.raises(OutOfMemory):
        replay(program(text), limit=80 * MIB, expandable=False, allowed=60 * MIB)


def test_max_split_size_keeps_big_blocks_whole_and_for_big_requests():
    limited = {"max_split_size": 32 * MIB}
    made = replay(program("a = 40 MiB; del a; b = 30 MiB; c = 30 MiB"), **limited)
    assert [shape(segment) for segment in made.segments()] == [[-40], [30], [30]]
    made = replay(program("a = 50 MiB; del a; b = 33 MiB"), **limited)
    assert [shape(segment) for segment in made.segments()] == [[50]]  # up to 20 MiB are wasted rather than cut
    made = replay(program("a = 60 MiB; del a; b = 33 MiB"), **limited)
    assert made.reserved[-1] == 94 * MIB
    freed = replay(program("a = 40 MiB; b = 40 MiB; c = 22 MiB; del a, b, c; d = 64 MiB"), limit=110 * MIB, **limited)
    assert [a.size for a in freed.during(6) if a.action == "segment_free"] == [40 * MIB, 40 * MIB]
    assert freed.retries == 0  # the 22 MiB stayed
    exact = replay(program("a = 40 MiB; b = 40 MiB; c = 22 MiB; del a, b, c; d = 80 MiB"), limit=110 * MIB, **limited)
    assert (exact.retries, exact.reserved[-1]) == (0, 102 * MIB)  # the two that went held just enough


def test_roundup_power2_divisions_rounds_to_a_quarter_of_a_power_of_two():
    rules = Rules(roundup_power2_divisions=4)
    assert [rules.round_size(n) for n in (1200, 2048, 4100, 9 * KIB, 5 * MIB + 1)] == [
        1536,
        2048,
        5 * KIB,
        10 * KIB,
        6 * MIB,
    ]


def test_garbage_is_collected_above_the_threshold_oldest_first():
    settings = {"allowed": 200 * MIB, "garbage_collection_threshold": 0.6}
    made = replay(program("a = 50 MiB; b = 50 MiB; del a; c = 60 MiB; del b; d = 70 MiB"), **settings)
    assert [(a.address, a.size) for a in made.during(5) if a.action == "segment_free"] == [(0, 50 * MIB)]  # a, not b
    assert (made.retries, made.reserved[-1]) == (0, 180 * MIB)


@pytest.mark.parametrize(
    "wrong, named",
    [
        ({"limit": -1}, "limit"),
        ({"max_split_size": 20 * MIB}, "max_split_size"),
        ({"roundup_power2_divisions": 3}, "roundup_power2_divisions"),
        ({"garbage_collection_threshold": 1.5}, "garbage_collection_threshold"),
    ],
)
def test_settings_that_torch_would_refuse_are_refused(wrong, named):
    with pytest.raises(ValueError, match=named):
        replay(program("a = 1"), **wrong)


@pytest.mark.parametrize("text", ["a = six", "a = 1 MiB; a = 2 MiB", "del a", "a == 1", "a = 1 MiB # weights"])
def test_a_program_that_cannot_run_is_refused_with_its_line(text):
    with pytest.raises(TraceError, match=text.split("; ")[-1].split(" ")[0]):
        program(text)


def test_a_trace_that_frees_twice_is_refused():
    event = Event("alloc", 0, 512, "temporary")
    freed = event._replace(kind="free")
    with pytest.raises(TraceError, match="block 0"):
        replay(Trace((event, freed, freed), "predicted (meta)"))


def test_a_block_takes_its_class_from_the_trace_as_it_stands_then():
    events = program("a = 1 MiB; b = 1 MiB").events
    trace = Trace((events[0], events[0]._replace(kind="class", cls="activation"), events[1]), "predicted (meta)")
    made = replay(trace)
    assert [made.segments(i)[0].blocks[0].cls for i in (0, 1, 2)] == ["temporary", "activation", "activation"]
    assert "activation" in CLASSES
    assert [len(made.during(i)) for i in range(3)] == [2, 0, 1]


def test_addresses_from_elsewhere_decide_between_equal_blocks():
    text = "a = 12 MiB; b = 12 MiB; del a, b; c = 12 MiB"
    last = [replay(program(text), addresses=where).during(4)[0].address for where in ((), (64 * MIB, 0))]
    assert last == [0, 0]
    assert replay(program(text), addresses=(64 * MIB, 0)).during(0)[0].address == 64 * MIB


def test_freeing_what_was_never_made_is_no_event_of_the_allocator():
    allocator = Allocator()
    allocator.free(7)
    assert allocator.actions == []


def test_the_rules_are_the_facts():
    from helpers.facts import FACTS
    from helpers.memory.allocator import rules

    named = {
        "block": rules.MIN_BLOCK,
        "small": rules.SMALL_SIZE,
        "small_segment": rules.SMALL_SEGMENT,
        "large_segment": rules.LARGE_SEGMENT,
        "own_segment": rules.MIN_LARGE,
        "round": rules.ROUND_LARGE,
    }
    for name, nbytes in named.items():
        fact = FACTS[f"allocator.{name}"]
        assert fact.value * {"B": 1, "MiB": MIB}[fact.unit] == nbytes


def test_an_expandable_block_at_the_end_counts_as_large_as_it_could_grow():
    text = "a = 19 MiB; b = 3 MiB; c = 10 MiB; del a; d = 6 MiB"
    made = replay(program(text), expandable=True)
    assert shape(made.segments(3)[0]) == [-19, 3, 10, -8]
    assert shape(made.segments()[0]) == [6, -13, 3, 10, -8]  # not into the 8, which can grow to all of the device


def test_of_an_expandable_segment_only_what_is_outside_of_whole_free_pages_is_stuck():
    """Pages of 20 MiB: of the 50 MiB at the front two pages can go, and 10 MiB share the third with b."""
    made = replay(program("a = 50 MiB; b = 30 MiB; del a"), expandable=True).measure()
    assert (made.cached, made.largest, made.stuck) == (50 * MIB, 50 * MIB, 10 * MIB)
    fixed = replay(program("a = 12 MiB; b = 6 MiB; del b; c = 4 MiB; del c")).measure()
    assert fixed.stuck == 0 == fixed.share


@pytest.mark.parametrize(
    ("nbytes", "said"),
    [(512, "512 bytes"), (KIB, "1024 bytes"), (KIB + 512, "1.50 KiB"), (20 * MIB, "20.00 MiB"), (3 << 29, "1.50 GiB")],
)
def test_sizes_are_spelled_as_torchs_errors_spell_them(nbytes, said):
    assert size_text(nbytes) == said
