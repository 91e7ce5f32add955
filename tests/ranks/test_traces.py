"""Traces: a real run leaves a stamp for every message of its schedule, on one clock, and on an emulated link where the model has it."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator

import pytest
import slow_networks as lab
import torch.distributed as dist
from lanes import some

from helpers.collectives import CATALOGUE, Schedule, ScheduleError, price
from helpers.collectives.ports import messages
from helpers.facts import Link
from helpers.ranks import TRACES, Late, Ranks, load, record_traces, recorded, traced
from helpers.ranks.play import traces
from helpers.ranks.play.stamps import offsets
from helpers.ranks.play.traces import EMULATED
from helpers.units import KIB, Bandwidth

LINK = lab.link(5, 100)
STEADY = ("ring", "binomial", "halving-doubling", "recursive-doubling")
# Where several send to one rank at once, which of them its port serves first is up to chance, and so are the times.
CROWDED = ("two-shot", "flat", "bidirectional", "double-tree")


@pytest.fixture(scope="module")
def slow() -> Iterator[Ranks]:
    with Ranks(4, backend="gloo", link=LINK, timeout=5.0) as ranks:
        yield ranks


def all_reduce(algorithm: str) -> Schedule:
    return CATALOGUE["all_reduce", algorithm](nranks=4)


def sound(run: dict) -> None:
    """Whatever ran: the messages are the schedule's, and nothing comes before what it waits for."""
    s = Schedule.parse(run["schedule"])
    size = run["nbytes"] / (s.nranks if s.collective == "all_to_all" else s.nchunks)
    got = [(m["step"], m["src"], m["dst"], tuple(m["chunks"])) for m in run["messages"]]
    want = defaultdict(list)
    for number, step in enumerate(s.steps, 1):
        for t in step:
            want[number, t.src, t.dst, t.op].append(t.chunk)
    assert sorted(got) == sorted((*key[:3], tuple(sorted(chunks))) for key, chunks in want.items())
    ends = defaultdict(float)
    for m in run["messages"]:
        assert m["nbytes"] == len(m["chunks"]) * size
        assert m["send"][0] <= m["send"][1] and m["recv"][0] <= m["recv"][1]
        assert m["recv"][1] >= m["send"][0] - 2 * run["clock"]["error"], "nothing comes before it was sent"
        assert max(m["send"][1], m["recv"][1]) <= run["seconds"] + 1e-9
    for m in run["messages"]:
        for rank, times in ((m["src"], m["send"]), (m["dst"], m["recv"])):
            ends[rank, m["step"]] = max(ends[rank, m["step"]], times[1])
    for m in run["messages"]:
        for rank, times in ((m["src"], m["send"]), (m["dst"], m["recv"])):
            before = [end for (r, step), end in ends.items() if r == rank and step < m["step"]]
            assert times[0] >= max(before, default=0.0) - 1e-9, "a rank begins a step when its last one is over"


def arrivals(s: Schedule, nbytes: int, link: Link) -> dict[tuple[int, int, int], float]:
    """(step, src, dst) -> when the message arrives. A rank goes on when its own messages of a step are through, whatever others do.

    A message passes a send port and a receive port at once, and each of them serves one after another.
    """
    cost, begun, free, found = nbytes / s.nchunks * link.beta, defaultdict(float), defaultdict(float), {}
    for number, step in enumerate(s.steps, 1):
        over = dict(begun)
        for (src, dst), count in sorted(messages(step), key=lambda flow: begun[flow[0][0]]):
            for port in (("out", src), ("in", dst)):
                free[port] = max(free[port], begun[src]) + link.alpha + count * cost
            left, arrived = free["out", src], max(free["out", src], free["in", dst])
            found[number, src, dst] = arrived
            over[src], over[dst] = max(over.get(src, 0.0), left), max(over.get(dst, 0.0), arrived)
        begun |= over
    return found


@pytest.mark.parametrize("algorithm", some(STEADY + CROWDED, ["ring", "binomial"], "traces of more algorithms"))
def test_a_trace_of_plain_ranks_is_sound(four, algorithm):
    run = traced(four, all_reduce(algorithm), 64 * KIB, reps=3)
    sound(run)
    assert run["nbytes"] == 64 * KIB and run["dtype"] == "float32"
    assert run["link"]["alpha"] >= 0 and run["link"]["bandwidth"] > 0
    assert run["clock"]["offsets"] == [0.0] * 4 and 0 < run["clock"]["error"] < 0.1, "one machine, one clock"
    assert json.loads(json.dumps(run)) == run


OTHERS = [key for key in CATALOGUE if key[0] != "all_reduce" and key[1] != "nvls"]
ONE_EACH = list({collective: (collective, name) for collective, name in OTHERS}.values())


@pytest.mark.parametrize("key", some(OTHERS, ONE_EACH, "traces of more schedules"), ids="-".join)
def test_every_other_collective_leaves_a_trace(four, key, monkeypatch):
    monkeypatch.setattr(traces, "fit_link", lambda ranks, busy, sizes: LINK)  # fitted often enough above
    root = {"root": 1} if key[0] in ("broadcast", "reduce", "scatter", "gather") else {}
    sound(traced(four, CATALOGUE[key](nranks=4, **root), 16 * KIB, reps=1))


@pytest.mark.alone
@pytest.mark.parametrize("algorithm", some(STEADY, STEADY[:1], "traces of more schedules"))
def test_on_an_emulated_link_every_message_arrives_when_the_model_says(slow, algorithm):
    s, nbytes = all_reduce(algorithm), 256 * KIB
    run = traced(slow, s, nbytes, reps=5)
    sound(run)
    assert run["link"] == {"alpha": LINK.alpha, "bandwidth": pytest.approx(LINK.bandwidth.value)}
    want = arrivals(s, nbytes, LINK)
    got = {(m["step"], m["src"], m["dst"]): m["recv"][1] for m in run["messages"]}
    assert got == {key: pytest.approx(seconds, rel=0.15) for key, seconds in want.items()}
    assert run["seconds"] == pytest.approx(price(s, nbytes, LINK, rule="dataflow").seconds, rel=0.15)


@pytest.mark.alone
@pytest.mark.parametrize("algorithm", some(CROWDED, CROWDED[:1], "traces of more schedules"))
def test_where_messages_meet_at_a_port_the_trace_is_sound_and_no_quicker_than_the_model(slow, algorithm):
    s, nbytes = all_reduce(algorithm), 256 * KIB
    run = traced(slow, s, nbytes, reps=5)
    sound(run)
    assert run["seconds"] > 0.99 * price(s, nbytes, LINK, rule="dataflow").seconds


@pytest.mark.alone
def test_a_late_rank_is_late_and_those_who_wait_for_it_too(slow):
    s, nbytes, pause = all_reduce("ring"), 256 * KIB, 0.06
    even, late = traced(slow, s, nbytes, 3), traced(slow, s, nbytes, 3, Late(rank=2, step=3, seconds=pause))
    sound(late)
    lateness = {
        (m["step"], m["src"]): m["send"][0] - n["send"][0]
        for m, n in zip(late["messages"], even["messages"], strict=True)
    }
    close = pytest.approx(pause, abs=0.15 * pause)
    on_time = pytest.approx(0, abs=0.15 * pause)
    assert lateness[3, 2] == close and all(lateness[step, rank] == on_time for step in (1, 2) for rank in range(4))
    assert lateness[3, 0] == lateness[3, 1] == lateness[3, 3] == on_time, "the step itself began on time elsewhere"
    assert lateness[4, 3] == close and lateness[4, 1] == on_time, "its neighbour waits first"
    assert all(lateness[6, rank] == close for rank in (0, 2, 3)), "and the delay goes round"
    assert late["seconds"] - even["seconds"] == close


@pytest.mark.matrix("traces of more schedules")
@pytest.mark.alone
def test_however_often_it_is_repeated_one_run_is_traced(slow):
    seconds = [traced(slow, all_reduce("ring"), 4 * KIB, reps=n)["seconds"] for n in (1, 2, 5)]
    assert seconds == [pytest.approx(6 * LINK.seconds(KIB), rel=0.15)] * 3


def test_execute_stamps_nothing(four):
    """What is not traced goes the plain way: the very function that posts, with nothing around it."""

    def f():
        from helpers.ranks import execute
        from helpers.ranks.play import play

        seen, original = [], play.post

        def spy(number, pairs):
            works = original(number, pairs)
            seen.append({type(work).__name__ for work in works})
            return works

        import torch

        play.post = spy
        try:
            execute(all_reduce("ring"), torch.ones(8))
        finally:
            play.post = original
        return seen

    assert all(len(seen) == 6 and "_Stamped" not in set().union(*seen) for seen in four.run(f))


# clocks ------------------------------------------------------------------------------------------------------------------
def test_clocks_that_are_apart_are_set_by_each_other(four):
    def f():
        return offsets(lambda: time.monotonic() + 10.0 * dist.get_rank())

    ahead, error = four.run(f)[0]
    assert ahead == [pytest.approx(10.0 * rank, abs=error) for rank in range(4)] and error < 0.1


def test_clocks_are_asked_beside_an_emulated_network(slow):
    ahead, error = slow.run(offsets)[0]
    assert ahead == [0.0] * 4 and error < LINK.alpha


# bad input ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "key, nbytes, options, error, said",
    [
        (
            ("all_reduce", "nvls"),
            KIB,
            {},
            ScheduleError,
            "ranks host the 1 switches of nvls: times of that mean nothing",
        ),
        (("all_reduce", "ring"), 6, {}, ValueError, "nbytes is a multiple of 4 here .*, got 6"),
        (("all_gather", "ring"), 4, {}, ValueError, "nbytes is a multiple of 16 here .*, got 4"),
        (("all_reduce", "ring"), KIB, {"reps": 0}, ValueError, "reps is a whole number >= 1, got 0"),
        (
            ("all_reduce", "ring"),
            KIB,
            {"late": Late(4, 1, 0.1)},
            ValueError,
            "late names a rank of 4, a step from 1 to 6",
        ),
        (
            ("all_reduce", "ring"),
            KIB,
            {"late": Late(0, 7, 0.1)},
            ValueError,
            "late names a rank of 4, a step from 1 to 6",
        ),
        (("broadcast", "flat"), KIB, {"late": Late(3, 1, 0.1)}, ValueError, "rank 3 has no message in step 1"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(four, key, nbytes, options, error, said):
    s = CATALOGUE[key](nranks=4, **({"root": 0} if key[0] == "broadcast" else {}))
    with pytest.raises(error, match=said):
        traced(four, s, nbytes, **options)


def test_a_schedule_for_other_ranks_or_a_broken_one_is_refused(four):
    with pytest.raises(ScheduleError, match="is for 3 ranks, these are 4"):
        traced(four, CATALOGUE["all_reduce", "ring"](nranks=3), KIB)
    ring = all_reduce("ring")
    with pytest.raises(ScheduleError, match="should hold"):
        traced(four, Schedule("all_reduce", "short", 4, 4, ring.steps[:-1]), KIB)


def test_a_network_of_several_links_is_refused():
    said = pytest.raises(ValueError, match=r"a trace is compared with one link, 4 ranks, .* has 2")
    with Ranks(4, backend="gloo", link=lab.TwoNodes(lab.link(0, 1e4), lab.link(1, 1e4))) as ranks, said:
        traced(ranks, all_reduce("ring"), KIB)


# the book's --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", TRACES)
def test_the_recorded_traces_are_sound_and_say_where_they_come_from(name):
    run, trace = load(name), TRACES[name]
    sound(run.data)
    assert run.data["schedule"] == str(trace.schedule) and run.data["nbytes"] == trace.nbytes
    assert run.command == f"python -m helpers.ranks record {name}"
    assert run.machine["cpu"] and run.versions["torch"] and run.date and run.label.startswith("4 ranks, gloo, CPU")
    link = Link(run.data["link"]["alpha"], Bandwidth(run.data["link"]["bandwidth"], "one way", "GPU", "fitted"))
    if trace.link:
        pause = trace.late.seconds if trace.late else 0.0
        assert (link.alpha, link.beta) == (EMULATED.alpha, pytest.approx(EMULATED.beta))
        assert run.data["seconds"] - pause == pytest.approx(price(trace.schedule, trace.nbytes, link).seconds, rel=0.15)


def test_one_command_records_them_again(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    (line,) = record_traces(["trace-binomial-emulated"])
    assert line.startswith("trace-binomial-emulated: ") and "6 messages on 4 ranks, gloo, CPU, emulated link" in line
    assert [path.name for path in tmp_path.iterdir()] == ["trace-binomial-emulated.json"]
    sound(load("trace-binomial-emulated").data)
    with pytest.raises(ValueError, match="no trace 'ring': there is trace-ring-cpu, "):
        record_traces(["ring"])


def test_the_run_in_the_middle_is_kept(monkeypatch):
    """Not the first and not the quickest: of three runs of 3, 1 and 2 seconds the one of 2."""

    class Recalled:
        nranks, network = 2, object()

        def run(self, fn, *args):
            return [
                traces._Found(([0.0, 0.0], 0.0), [traces._Run(0.0, t, []) for t in (3.0, 1.0, 2.0)]) for _ in range(2)
            ]

    monkeypatch.setattr(traces, "_link", lambda ranks: Link(1e-6, Bandwidth(1e9, "one way", "GPU", "fitted")))
    ring = CATALOGUE["all_reduce", "ring"](nranks=2)
    assert traced(Recalled(), ring, 8, reps=3)["seconds"] == 2.0
