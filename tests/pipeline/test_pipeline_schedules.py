"""Pipeline schedules as data: the papers' orders, the dry run, and closed forms that equal what is counted."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from lanes import some

from helpers.pipeline import (
    SCHEDULES,
    PipelineSchedule,
    ScheduleError,
    Times,
    bubble_overhead,
    bubble_share,
    dry_run,
    idle,
    most_waiting,
    naive,
    peak,
    split,
    timeline,
    waiting,
)
from helpers.pipeline.orders import with_shards
from helpers.pipeline.schedule import Action

# Figure 3 (top) of arXiv 2401.10241, 4 devices and 8 microbatches: numbers in their order; F, B (here I) or W is told by the order.
ZB_H1 = [
    "1 2 3 4 1 1 5 2 2 6 3 3 7 4 4 8 5 5 6 6 7 7 8 8",
    "1 2 3 1 4 2 1 5 3 2 6 4 3 7 5 4 8 6 5 7 6 8 7 8",
    "1 2 1 3 2 4 3 1 5 4 2 6 5 3 7 6 4 8 7 5 8 6 7 8",
    "1 1 2 2 3 3 4 4 1 5 5 2 6 6 3 7 7 4 8 8 5 6 7 8",
]
# Its figure 2: 1F1B.
ONE_F_ONE_B = [
    "1 2 3 4 1 5 2 6 3 7 4 8 5 6 7 8",
    "1 2 3 1 4 2 5 3 6 4 7 5 8 6 7 8",
    "1 2 1 3 2 4 3 5 4 6 5 7 6 8 7 8",
    "1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8",
]
SIZES = [(p, m) for p in range(1, 9) for m in range(1, 33)]
FEW = [(p, m) for p in range(1, 9) for m in (1, 2, 3, p, p + 1, 2 * p, 32) if m <= 32]


@pytest.mark.parametrize(("name", "rows"), [("zb-h1", ZB_H1), ("1f1b", ONE_F_ONE_B)])
def test_the_order_is_the_papers(name, rows):
    s = SCHEDULES[name](4, 8)
    assert [" ".join(str(a.microbatch + 1) for a in program) for program in s.computed] == rows


def test_interleaving_sends_four_microbatches_through_each_stage_of_a_rank():
    """Figure 4 of arXiv 2104.04473: device 1 has 4 microbatches in stage 0, 4 in stage 4, 3 more in stage 0, then backwards between."""
    first, *_, last = SCHEDULES["interleaved"](4, 8).computed
    assert " ".join(map(str, first[:14])) == "0F0 0F1 0F2 0F3 4F0 4F1 4F2 4F3 0F4 0F5 0F6 4B0 0F7 4B1"
    assert " ".join(map(str, last[:8])) == "3F0 3F1 3F2 3F3 7F0 7B0 7F1 7B1"


def built(p: int, m: int) -> list[PipelineSchedule]:
    """Every schedule of this size: interleaved, with 2 and 3 stages per rank, where p divides m."""
    names = [name for name, builder in SCHEDULES.items() if not builder.interleaves]
    return [SCHEDULES[name](p, m) for name in names] + [SCHEDULES["interleaved"](p, m, v) for v in (2, 3) if m % p == 0]


@pytest.mark.parametrize("size", some(SIZES, FEW, "more sizes of pipelines"), ids="{0[0]}x{0[1]}".format)
def test_every_schedule_passes_the_dry_run_and_its_closed_forms_hold(size):
    p, m = size
    for s in built(p, m):
        dry_run(s)
        line = timeline(s)
        assert line.idle == [idle(s)] * p, s.name
        assert line.bubble == bubble_share(s)
        assert peak(s) == [most_waiting(s, rank) * s.nvirtual for rank in range(p)]
        assert PipelineSchedule.parse(str(s)) == s


def test_the_numbers_of_one_pipeline():
    """4 ranks, 8 microbatches, a backward of two forwards: what the papers' formulas give, by hand."""
    made = {name: builder(4, 8) for name, builder in SCHEDULES.items()}
    shares = {name: bubble_share(s) for name, s in made.items()}
    want = {"gpipe": (3, 11), "1f1b": (3, 11), "interleaved": (3, 19), "zb-h1": (1, 9)}
    assert shares == {name: Fraction(*one) for name, one in want.items()}
    assert {name: bubble_overhead(s) for name, s in made.items()} == {
        "gpipe": Fraction(3, 8),
        "1f1b": Fraction(3, 8),
        "interleaved": Fraction(3, 16),
        "zb-h1": Fraction(1, 8),
    }
    assert {name: peak(s) for name, s in made.items()} == {
        "gpipe": [8, 8, 8, 8],
        "1f1b": [4, 3, 2, 1],
        "interleaved": [11, 9, 7, 5],  # of half a rank's layers each
        "zb-h1": [4, 4, 4, 4],
    }


@pytest.mark.parametrize("times", [(2, 3, 1), (3, 4, 2), (1, 2, 1), (5, 5, 0)])
@pytest.mark.parametrize("m", [4, 7, 16])
def test_the_closed_forms_hold_for_other_times(times, m):
    """w <= f <= i, as in table 1 of the paper on zero bubbles."""
    times = Times(*map(Fraction, times))
    for name in ("gpipe", "1f1b", "zb-h1"):
        s = SCHEDULES[name](4, m)
        assert timeline(s, times).idle == [idle(s, times)] * 4
    s = SCHEDULES["interleaved"](4, 8)
    assert timeline(s, times).idle == [idle(s, times)] * 4


def test_the_closed_form_of_zero_bubbles_refuses_times_it_is_not_for():
    s, times = SCHEDULES["zb-h1"](4, 8), Times(2, 1, 2)
    with pytest.raises(ValueError, match=r"weight <= forward <= input and at least 4 microbatches"):
        idle(s, times)
    assert timeline(s, times).idle == [6] * 4, "not (p-1)(f+i-w) = 3"
    with pytest.raises(ValueError, match="at least 4 microbatches"):
        idle(SCHEDULES["zb-h1"](4, 3), Times(2, 3, 1))
    assert idle(SCHEDULES["zb-h1"](1, 2), times) == 0


def test_the_closed_form_of_what_waits_is_refused_for_others():
    mine = PipelineSchedule("mine", 1, 1, 1, ((),))
    with pytest.raises(ValueError, match=r"with a closed form is one of gpipe, .*, got 'mine'"):
        most_waiting(mine, 0)
    with pytest.raises(ValueError, match="a rank is one of 0 to 3, got 4"):
        most_waiting(SCHEDULES["gpipe"](4, 4), 4)


def test_a_message_that_takes_time_lengthens_the_bubble():
    s = SCHEDULES["gpipe"](4, 8)
    hop = Fraction(1, 10)
    assert timeline(s, Times(hop=hop)).makespan == timeline(s).makespan + 6 * hop, "three hops there, three back"


def test_the_longest_stage_sets_the_pace():
    """A last stage that takes a tenth longer: all but the first of its m microbatches wait for it, and so do all other ranks."""
    s, extra = SCHEDULES["1f1b"](4, 8), Fraction(1, 10)
    even, uneven = timeline(s), timeline(s, longer={3: 1 + extra})
    assert uneven.makespan == even.makespan + 8 * 3 * extra
    assert uneven.idle == [9 + 8 * 3 * extra] * 3 + [9]
    assert timeline(s, longer={0: 1, 3: Fraction(1)}).timed == even.timed
    with pytest.raises(ScheduleError, match="stages are 0 to 3, got 4"):
        timeline(s, longer={4: 2})


def test_activations_over_time():
    """Rank 0 of 2 in ZB-H1 with 3 microbatches: I turns a whole one into one that waits for its weights."""
    rank = waiting(SCHEDULES["zb-h1"](2, 3))[1]
    assert [(str(held.action), held.whole, held.weights) for held in rank] == [
        ("1F0", 1, 0),
        ("1I0", 0, 1),
        ("1F1", 1, 1),
        ("1I1", 0, 2),
        ("1W0", 0, 1),
        ("1F2", 1, 1),
        ("1I2", 0, 2),
        ("1W1", 0, 1),
        ("1W2", 0, 0),
    ]


def test_a_longer_stage_is_one_of_several_on_its_rank_and_no_hop_leads_to_oneself():
    s, alone = SCHEDULES["interleaved"](2, 4), SCHEDULES["interleaved"](1, 3)
    lasts = {str(t.action): t.end - t.start for t in timeline(s, longer={2: 2}).timed}
    assert (lasts["0F0"], lasts["2F0"]) == (Fraction(1, 2), 1)
    assert timeline(alone, Times(hop=Fraction(5))).timed == timeline(alone).timed
    assert [SCHEDULES[name](2, 4).splits for name in SCHEDULES] == [False, False, False, True]


# what the dry run finds ---------------------------------------------------------------------------------------------------
def test_each_rank_on_its_own_is_a_deadlock_where_both_ways_are_in_use():
    dry_run(naive(SCHEDULES["gpipe"](4, 8)))
    with pytest.raises(ScheduleError) as told:
        dry_run(naive(SCHEDULES["1f1b"](2, 4)))
    assert str(told.value) == (
        "deadlock: rank 0, step 4 (0SEND_F1), waits to send to rank 1; rank 1, step 4 (1SEND_B0), waits to send to rank 0: a circle"
    )
    for name in ("interleaved", "zb-h1"):
        with pytest.raises(ScheduleError, match="a circle"):
            dry_run(naive(SCHEDULES[name](4, 8)))


def changed(s: PipelineSchedule, rank: int, program: str) -> PipelineSchedule:
    """The same with another program for one rank."""
    programs = list(s.programs)
    programs[rank] = tuple(map(Action.parse, program.split()))
    return replace(s, programs=tuple(programs))


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("1RECV_F0 1F0 1B0", "rank 1 never does 1SEND_B0"),
        ("1RECV_F0 1F0 1SEND_B0", "rank 1 never does 1B0"),
        ("1RECV_F0 1F0 1B0 1F0 1SEND_B0", "rank 1 has 1F0 more than once"),
        ("1RECV_F0 1F0 1B0 1SEND_B0 1SEND_F0", "rank 1 does 1SEND_F0, which nobody needs"),
        ("1RECV_F0 1F0 1B0 1W0 1SEND_B0", "rank 1 does 1W0, which nobody needs"),
        ("1RECV_F0 1F0 1I0 1SEND_B0", "rank 1 never does 1W0"),
        ("1F0 1RECV_F0 1B0 1SEND_B0", "rank 1 does 1F0 before 1RECV_F0"),
        ("1RECV_F0 1B0 1F0 1SEND_B0", "rank 1 does 1B0 before 1F0"),
        ("1RECV_F0 1F0 1SEND_B0 1B0", "rank 1 does 1SEND_B0 before 1I0"),
        ("1RECV_F0 1F0 1W0 1I0 1SEND_B0", "rank 1 does 1W0 before 1I0"),
    ],
)
def test_what_is_wrong_is_named(program, says):
    s = SCHEDULES["gpipe"](2, 1)
    assert str(s) == "gpipe nranks=2 nmicrobatches=1 nstages=2\n0F0 0SEND_F0 0RECV_B0 0B0\n1RECV_F0 1F0 1B0 1SEND_B0"
    with pytest.raises(ScheduleError) as told:
        dry_run(changed(s, 1, program))
    assert str(told.value) == says
    dry_run(changed(s, 1, "1RECV_F0 1F0 1I0 1SEND_B0 1W0"))


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("1RECV_F0 1F0 1UNSHARD 1B0 1SEND_B0 1RESHARD", "rank 1 does 1F0 before 1UNSHARD"),
        ("1UNSHARD 1RECV_F0 1F0 1RESHARD 1B0 1SEND_B0", "rank 1 does 1B0 before 1UNSHARD"),
        ("1UNSHARD 1RECV_F0 1F0 1B0 1SEND_B0", "rank 1 never does 1RESHARD"),
        ("1UNSHARD 1UNSHARD 1RECV_F0 1F0 1B0 1SEND_B0 1RESHARD", "rank 1 does 1UNSHARD where stage 1 is gathered"),
        ("1RECV_F0 1F0 1B0 1SEND_B0 1RESHARD", "rank 1 does 1RESHARD where stage 1 is not gathered"),
        ("1RECV_F0 1F0 1REDUCE_GRAD 1B0 1SEND_B0", "rank 1 does 1B0 after 1REDUCE_GRAD"),
        ("1RECV_F0 1F0 1B0 1SEND_B0 1REDUCE_GRAD 1REDUCE_GRAD", "rank 1 has 1REDUCE_GRAD more than once"),
    ],
)
def test_what_is_wrong_with_shards_is_named(program, says):
    s = with_shards(SCHEDULES["gpipe"](2, 1), ahead=1)
    assert str(s).endswith("\n1RECV_F0 1UNSHARD 1F0 1B0 1SEND_B0 1REDUCE_GRAD 1RESHARD")
    dry_run(s)
    assert s.computed == SCHEDULES["gpipe"](2, 1).computed and waiting(s) == waiting(SCHEDULES["gpipe"](2, 1))
    with pytest.raises(ScheduleError) as told:
        dry_run(changed(s, 1, program))
    assert str(told.value) == says


def test_a_kind_of_computation_has_one_row_and_few_who_name_it():
    """Its row here and the page's, the orders that use it, what a rank owes, what it plays: not who times, counts, sends or draws it."""
    root = Path(__file__).resolve().parents[2] / "helpers"
    rooms = ("pipeline", "view/pipeline", "parallel/pipeline", "measure/sharding", "ledger")
    files = [path for kind in ("py", "mjs") for room in rooms for path in (root / room).rglob(f"*.{kind}")]
    naming = [path for path in files if re.search(r"""["'`]W["'`]|[ {]W: \"bim""", path.read_text(), re.MULTILINE)]
    assert len(naming) <= 6, naming
    assert {path.name for path in naming} >= {"schedule.py", "runner.py", "picture.mjs"}


@pytest.mark.parametrize("text", ["0UNSHARD1", "0F", "0X0", "F0"])
def test_an_action_is_written_as_torch_writes_it(text):
    with pytest.raises(ScheduleError, match="an action is written stage, kind, microbatch"):
        Action.parse(text)
    assert [str(Action.parse(word)) for word in ("12SEND_B3", "4REDUCE_GRAD")] == ["12SEND_B3", "4REDUCE_GRAD"]


def test_the_csv_of_torchs_schedules_is_read():
    """As `_dump_csv` writes it: without messages a cell for each moment, empty where a rank waits; or with them, and with shards."""
    s = SCHEDULES["interleaved"](2, 4)
    for one in (s, replace(s, programs=s.computed), with_shards(s)):
        rows = [",".join(["", *map(str, program)]) for program in one.programs]
        assert PipelineSchedule.parse("\r\n".join([*rows, ""])) == replace(one, name="pasted")
    with pytest.raises(ScheduleError, match="stage 3 lives on rank 1"):
        PipelineSchedule.parse("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n")


def test_messages_in_another_order_than_their_receives_are_named():
    s = SCHEDULES["gpipe"](2, 2)
    other = "1RECV_F1 1F1 1RECV_F0 1F0 1B0 1SEND_B0 1B1 1SEND_B1"
    with pytest.raises(ScheduleError, match=r"deadlock: rank 0 sends .* to rank 1, which there receives"):
        dry_run(changed(s, 1, other))


def test_computations_that_wait_for_each_other_have_no_timeline():
    s = changed(SCHEDULES["gpipe"](2, 1), 0, "0B0 0F0")
    with pytest.raises(ScheduleError, match="rank 0 before 0B0; rank 1 before 1F0"):
        timeline(s)


# bad input ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: SCHEDULES["1f1b"](0, 4), "nranks is a whole number from 1 on, got 0"),
        (lambda: SCHEDULES["1f1b"](4, 2.5), "nmicrobatches is a whole number from 1 on, got 2.5"),
        (lambda: SCHEDULES["1f1b"](4, 8, 2), '1f1b has one stage per rank, got nvirtual=2: take "interleaved"'),
        (
            lambda: SCHEDULES["interleaved"](4, 6),
            "interleaved wants a multiple of 4 ranks as microbatches, got 6: take 4 or 8",
        ),
        (
            lambda: SCHEDULES["interleaved"](4, 3),
            "interleaved wants a multiple of 4 ranks as microbatches, got 3: take 4",
        ),
        (
            lambda: split(3, 4),
            "4 stages of 3 layers leave a stage without layers: take at most 3 stages, or at least 4 layers",
        ),
        (lambda: Action.parse("F0"), 'an action is written stage, kind, microbatch, as "2F0", .*'),
        (lambda: Action.parse("٠F0"), "an action is written .* got '٠F0'"),
        (lambda: Action.parse("0X0"), "an action is written .* got '0X0'"),
        (
            lambda: PipelineSchedule.parse("gpipe"),
            'the first line is "1f1b nranks=4 nmicrobatches=8 nstages=4" or alike, got .*',
        ),
        (lambda: PipelineSchedule('a"b', 1, 1, 1, ((),)), "name must be one word of at most 64 letters"),
        (lambda: PipelineSchedule.parse("a(b) nranks=1 nmicrobatches=1 nstages=1\n0F0 0B0"), "name must be one word"),
        (lambda: PipelineSchedule("x", 2, 1, 3, ((), ())), "every rank has equally many stages: .* nranks=2, got 3"),
        (lambda: PipelineSchedule("x", 2, 1, 2, ((),)), "one program for each of 2 ranks, got 1"),
        (lambda: PipelineSchedule("x", 1, 1, 1, ((), ())), "one program for each of 1 ranks, got 2"),
        (lambda: PipelineSchedule("x", True, 1, 1, ((),)), "nranks is a whole number from 1 on, got True"),
        (
            lambda: PipelineSchedule.parse("x nranks=1 nmicrobatches=1 nstages=1\n1F0"),
            "rank 0 has 1F0: stages are 0 to 0",
        ),
        (lambda: SCHEDULES["interleaved"](4, 10), "got 10: take 8 or 12"),
        (
            lambda: PipelineSchedule.parse("x nranks=2 nmicrobatches=1 nstages=2\n1F0\n"),
            "one program for each of 2 ranks, got 1",
        ),
        (
            lambda: PipelineSchedule.parse("x nranks=2 nmicrobatches=1 nstages=2\n1F0\n0F0"),
            "rank 0 has 1F0: stage 1 lives on rank 1",
        ),
        (
            lambda: PipelineSchedule.parse("x nranks=1 nmicrobatches=1 nstages=1\n0F1"),
            "rank 0 has 0F1: stages are 0 to 0, microbatches 0 to 0",
        ),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ScheduleError, match=says):
        call()


def test_layers_are_cut_as_equally_as_they_go():
    assert split(4, 4) == [range(i, i + 1) for i in range(4)]
    assert split(8, 4) == [range(2), range(2, 4), range(4, 6), range(6, 8)]
    assert [len(layers) for layers in split(10, 4)] == [3, 3, 2, 2]


def test_unknown_schedules_have_no_closed_form():
    s = replace(SCHEDULES["gpipe"](2, 2), name="mine")
    with pytest.raises(ValueError, match="one of gpipe, 1f1b, interleaved, zb-h1, got 'mine'"):
        idle(s)
