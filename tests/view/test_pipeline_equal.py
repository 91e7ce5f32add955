"""The widget `pipeline` in JavaScript computes and says what Python does, exactly: every schedule, odd times, a reader's own."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from helpers.pipeline import SCHEDULES, PipelineSchedule, Timeline, idle, most_waiting, peak, waiting, with_shards
from helpers.pipeline.dry_run import with_messages
from helpers.pipeline.orders import read
from helpers.pipeline.schedule import KINDS
from helpers.view.pipeline.spec import MOST, PipelineSpec, known, pipeline_spec, stops, texts
from helpers.view.pipeline.widget import pipeline_sentence
from helpers.view.shared.words import percent

CASES, TEXTS = 1_000, 600
GOOD = pipeline_spec("interleaved", nranks=4, nmicrobatches=8, versus="gpipe").as_json()
UNFIT = [
    {"schedule": "zb-h2"},
    {"versus": "zb-h2"},
    {"nranks": 9},
    {"nmicrobatches": 6},
    {"nmicrobatches": 36},
    {"nvirtual": 5},
    {"forward": 0},
    {"input": 8.25},
    {"weight": 0.3},
    {"hop": -0.25},
    {"step": 0.5},
    {"step": 9_999},
    {"fsdp": 1},
    {"schedule": "1f1b"},
]
ODD_NAMES = ['x"y', "x'y", "x\\y", "_", "-", "größe", "x" * 65, "constructor", "x__proto__"]
SMALL = 64  # computations: what is larger is slow in fractions, and comes a few times only
GRAINS = 48  # of a unit, in which the page counts


def sizes(name: str) -> list[tuple[int, int, int]]:
    """All that the widget draws: ranks, microbatches, stages a rank."""
    ranks, microbatches, chunks = (range(1, MOST[part] + 1) for part in ("nranks", "nmicrobatches", "nvirtual"))
    weaves = SCHEDULES[name].interleaves
    fit = [(p, m) for p in ranks for m in microbatches if not weaves or m % p == 0]
    return [(p, m, v) for p, m in fit for v in (chunks if weaves else (1,))]


def odd_times(rng: random.Random) -> list[float]:
    return [rng.randint(1, 32) / 4 for _ in range(3)] + [rng.choice([0, 0, rng.randint(0, 16) / 4])]


def own(rng: random.Random, name: str, p: int, m: int, v: int) -> PipelineSchedule:
    """The order of a schedule of the table with its microbatches renamed: one that is not in the table."""
    s = SCHEDULES[name](p, m, v)
    new = rng.sample(range(m), m)
    swapped = tuple(tuple(a._replace(microbatch=new[a.microbatch]) for a in program) for program in s.computed)
    return with_messages(replace(s, name="mine", programs=swapped))


def cases() -> list[PipelineSpec]:
    """Every schedule alike often, on all ranks, with few and many microbatches; a fifth beside another, a tenth a reader's own."""
    rng = random.Random(7)
    offered = {name: [one for one in sizes(name) if 2 * one[0] * one[1] * one[2] <= SMALL] for name in SCHEDULES}
    found = []
    for i in range(CASES):
        name = [*SCHEDULES][i % len(SCHEDULES)]
        p, m, v = rng.choice(offered[name] if i % 99 else sizes(name))
        others = [other for other in SCHEDULES if other != name and (m % p == 0 or other != "interleaved")]
        versus = rng.choice(others) if i % 5 == 0 else ""
        which = own(rng, name, p, m, v) if i % 10 == 3 else name
        told = (
            {} if i % 10 == 3 else {"nranks": p, "nmicrobatches": m, "nvirtual": v if name == "interleaved" else None}
        )
        spec = pipeline_spec(which, **told, times=odd_times(rng), versus=versus, fsdp=i % 3 == 0)
        found.append(replace(spec, step=rng.randrange(len(stops(spec)))))
    return found


def test_javascript_computes_and_says_what_python_does(play):
    specs, odd = cases(), written()
    told = {"known": known(), "texts": {name: texts(name) for name in SCHEDULES}, "specs": specs, "odd": odd}
    found = play("pipeline", told | {"unfit": [GOOD, *({**GOOD, **one} for one in UNFIT)]})
    for text, got in zip(odd, found["drawn"], strict=True):
        linked(text, got)
    assert found["fit"] == [True, *[False] * len(UNFIT)]
    for i, (spec, got) in enumerate(zip(specs, found["played"], strict=True)):
        assert got["stops"] == grains(stops(spec)), spec
        for j, (line, theirs) in enumerate(zip(spec.lines, got["runs"], strict=True)):
            same(line, theirs, spec, bool(spec.text) and not j)
        assert got["verdict"] == pipeline_sentence(spec)
        assert (got["linked"], got["fits"]) == (spec.as_json(), True)
        assert got["half"] is None or got["half"] == half(spec)
        if i % 97 == 0:
            seen: dict = {}
            exec(got["python"].replace("\nexplore_pipeline(", "\nwidget = explore_pipeline("), seen)
            assert seen["widget"].spec == spec.as_json()


def written() -> list[str]:
    """Texts of small schedules, most damaged once or twice: a word lost, doubled, moved, misspelled; a header; a line."""
    rng = random.Random(11)
    found = [
        "",
        "\n",
        "1f1b",
        "x nranks=0 nmicrobatches=1 nstages=1\n",
        "x nranks=9 nmicrobatches=1 nstages=9" + "\n0F0" * 9,
        *(f"{name} nranks=1 nmicrobatches=1 nstages=1\n0F0 0B0" for name in ODD_NAMES),
    ]
    for i in range(TEXTS):
        p, m, v = rng.choice([(2, 3, 1), (2, 2, 1), (2, 2, 2), (3, 4, 1), (4, 4, 1)])
        name = "interleaved" if v > 1 else rng.choice([*SCHEDULES])
        s = (
            own(rng, name, p, m, v)
            if i % 2 and m % p == 0
            else SCHEDULES[name](p, m - m % p if name == "interleaved" else m, v)
        )
        text = str(s if i % 7 == 0 else replace(s, programs=s.computed))
        for _ in range(i % 3):
            text = damaged(text, rng)
        found.append(text)
    return found


def damaged(text: str, rng: random.Random) -> str:
    head, *lines = text.split("\n")
    at = rng.randrange(len(lines))
    words = lines[at].split(" ")
    i = rng.randrange(len(words))
    deed = rng.choice(["lost", "doubled", "moved", "misspelled", "head", "line"])
    if deed == "lost":
        del words[i]
    elif deed == "doubled":
        words.insert(rng.randrange(len(words) + 1), words[i])
    elif deed == "moved":
        words.insert(rng.randrange(len(words)), words.pop(i))
    elif deed == "misspelled":
        words[i] = re.sub(
            rng.choice([r"\d+$", r"^\d+", r"[A-Z]"]), lambda _: rng.choice("0127BFIWX'"), words[i], count=1
        )
    elif deed == "head":
        head = re.sub(r"\d+", lambda old: rng.choice([old[0], old[0], "0", "1", "3", "33"]), head)
    else:
        return "\n".join([head, *lines[:at], *lines[at + 1 :]])
    return "\n".join([head, *lines[:at], " ".join(words), *lines[at + 1 :]])


def reads(text: str) -> dict:
    return json.loads(read(text, *MOST.values()))


def linked(text: str, got: dict | None) -> None:
    """A link brings what Python proves, drawn with the same computations; and nothing is drawn that Python would refuse."""
    told = reads(text).get("change")
    assert got is None or "change" in reads(got["text"]), text
    if told:
        assert got is not None, text
        assert told | {"text": ""} == (got | {"text": ""} | ({} if told["text"] else {"nvirtual": told["nvirtual"]}))
        assert told["text"] in (got["text"], "")


def grains(times: list) -> list:
    """As the page counts them, in 48ths; a fraction of one stays, and is never equal."""
    return [GRAINS * time for time in times]


def same(line: Timeline, theirs: dict, spec: PipelineSpec, own: bool) -> None:
    """Everything that follows from one schedule and its times, without a tolerance."""
    s, ranks = line.schedule, range(line.schedule.nranks)
    assert theirs["lanes"] == [[[str(t.action), *grains(t[2:])] for t in line.of(rank)] for rank in ranks]
    assert theirs["held"] == [[[held.whole, held.weights] for held in rank] for rank in waiting(s)]
    assert (theirs["makespan"], theirs["peaks"]) == (GRAINS * line.makespan, peak(s))
    assert theirs["idle"] == grains(line.idle)
    at = stops(spec)[spec.step]
    ended = [sum(t.end <= at for t in line.of(rank)) for rank in ranks]
    assert theirs["holds"] == [waiting(s)[rank][n - 1].total if n else 0 for rank, n in zip(ranks, ended, strict=True)]
    sent = [(t, s.owner(t.action.neighbour)) for t in line.timed if KINDS[t.action.kind].to]
    gone = [(t, to) for t, to in sent if s.travels(t.action.stage, t.action.neighbour)]
    hop = spec.times.hop
    assert theirs["messages"] == [[*grains([t.end, t.end + hop]), t.rank, to, t.action.kind] for t, to in gone]
    assert (theirs["most"] is None) == own
    assert own or theirs["most"] == s.nvirtual * max(most_waiting(s, rank) for rank in ranks)
    assert theirs["wait"] == wait(s, spec, own)
    assert not spec.fsdp or theirs["events"] == events(line)


def wait(s: PipelineSchedule, spec: PipelineSpec, own: bool) -> Fraction | None:
    """A rank's idle time by the closed form."""
    try:
        return None if own else GRAINS * idle(s, spec.times)
    except ValueError:
        return None


def events(line: Timeline) -> list[list]:
    """Per rank: what it does with its shards between, at the end of what it has computed before."""
    found = []
    for rank, program in enumerate(with_shards(line.schedule, by_itself=True).programs):
        ends, at = iter([t.end for t in line.of(rank)]), Fraction(0)
        found.append([[str(a), GRAINS * (at := next(ends) if a.computes else at)] for a in program])
    return found


def half(spec: PipelineSpec) -> str:
    """What stands under the slider, by brute force."""
    by = spec.nranks if spec.schedule == "interleaved" or spec.versus == "interleaved" else 1
    all_ = {m: replace(spec, nmicrobatches=m, versus="").lines[0] for m in range(by, 33, by) if m >= spec.nmicrobatches}
    idle = {m: line.idle[0] for m, line in all_.items()}
    if not idle[spec.nmicrobatches]:
        return "Nothing is idle: there is no bubble."
    said = []
    for whole, name in (
        (lambda m: all_[m].makespan, "all time"),
        (lambda m: m * spec.times.work, "the useful time"),
    ):
        now = Fraction(idle[spec.nmicrobatches], whole(spec.nmicrobatches))
        found = next((m for m in all_ if Fraction(idle[m], whole(m)) <= now / 2), None)
        where = f"from {found} microbatches on" if found else f"with no number up to {max(all_)}"
        said.append(f"Half of {percent(idle[spec.nmicrobatches], whole(spec.nmicrobatches))} of {name}: {where}.")
    return " ".join(["Bars: the bubble by the number of microbatches.", *said])


@pytest.mark.parametrize("name", SCHEDULES)
def test_with_fewer_microbatches_a_schedule_is_that_of_many_without_the_others(name):
    """So the page, which has the text of the most, has them all: every size that it draws."""
    for p, m, v in sizes(name):
        many = PipelineSchedule.parse(texts(name)[f"{p}.{v}"])
        first = tuple(tuple(a for a in program if a.microbatch < m) for program in many.programs)
        assert replace(many, nmicrobatches=m, programs=first) == SCHEDULES[name].bare(p, m, v)
