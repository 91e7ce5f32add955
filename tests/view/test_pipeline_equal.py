"""The widget `pipeline` in JavaScript computes and says what Python does, exactly: every schedule, odd times, a reader's own."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from helpers.pipeline import SCHEDULES, PipelineSchedule, timeline
from helpers.pipeline.action import KINDS
from helpers.pipeline.messages import with_messages
from helpers.pipeline.own import read
from helpers.view.pipeline.programs import known, letters, packed, sizes, unpacked
from helpers.view.pipeline.run import GRAINS, Run, grains
from helpers.view.pipeline.spec import MOST, PipelineSpec, pipeline_spec, stops
from helpers.view.pipeline.words import pipeline_sentence
from helpers.view.shared.percents import percent

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
    {"schedule": "1f1b"},
]
ODD_NAMES = ['x"y', "x'y", "x\\y", "_", "-", "größe", "x" * 65, "constructor", "x__proto__"]
SMALL = 64  # computations: what is larger is slow in fractions, and comes a few times only


def odd_times(rng: random.Random) -> list[float]:
    return [rng.randint(1, 32) / 4 for _ in range(3)] + [rng.choice([0, 0, rng.randint(0, 16) / 4])]


def own(rng: random.Random, name: str, p: int, m: int, v: int) -> PipelineSchedule:
    """The order of a schedule of the table with its microbatches renamed: one that the page's letters cannot tell."""
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
        p, m, v = rng.choice(offered[name] if i % 99 else [*sizes(name)])
        others = [other for other in SCHEDULES if other != name and (m % p == 0 or other != "interleaved")]
        versus = rng.choice(others) if i % 5 == 0 else ""
        which = own(rng, name, p, m, v) if i % 10 == 3 else name
        told = (
            {} if i % 10 == 3 else {"nranks": p, "nmicrobatches": m, "nvirtual": v if name == "interleaved" else None}
        )
        spec = pipeline_spec(which, **told, times=odd_times(rng), versus=versus, step=0)
        found.append(replace(spec, step=rng.randrange(len(stops(spec)))))
    return found


def test_javascript_computes_and_says_what_python_does(play):
    specs, texts = cases(), written()
    told = {"pipelines": known(), "specs": specs, "texts": texts, "unfit": [GOOD, *({**GOOD, **one} for one in UNFIT)]}
    found = play("pipeline", told)
    for text, got in zip(texts, found["drawn"], strict=True):
        linked(text, got)
    assert found["fit"] == [True, *[False] * len(UNFIT)]
    rows = {kind: row._asdict() for kind, row in KINDS.items() if row.takes}
    for row in rows.values():
        del row["sends"]  # the page sends nothing
    assert found["kinds"] == json.loads(json.dumps([*rows.items()]))
    for i, (spec, got) in enumerate(zip(specs, found["played"], strict=True)):
        assert got["stops"] == stops(spec), spec
        for run, theirs in zip(spec.runs, got["runs"], strict=True):
            same(run, theirs, stops(spec)[spec.step])
            if i % 11 == 0:
                as_timed(run, theirs)
        assert got["sentence"] == pipeline_sentence(spec)
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


def same(run: Run, theirs: dict, at: int) -> None:
    """Everything that follows from one schedule and its times, without a tolerance."""
    ranks, v = range(run.schedule.nranks), run.schedule.nvirtual
    assert theirs["lanes"] == [[[str(t.action), t.start, t.end] for t in run.blocks if t.rank == r] for r in ranks]
    assert theirs["held"] == [[[whole, weights] for _, whole, weights in rank] for rank in run.held]
    assert sum(theirs["idle"]) == run.idle_until(run.makespan)
    assert theirs["makespan"] == run.makespan
    assert [Fraction(held, v) for held in theirs["holds"]] == [run.holds(r, at) for r in ranks]
    assert [Fraction(peak, v) for peak in theirs["peaks"]] == run.peaks
    assert theirs["messages"] == [list(message) for message in run.messages()]
    assert theirs["wait"] == run.wait
    assert (theirs["most"] is None) == (run.most is None)
    assert run.most is None or Fraction(theirs["most"], v) == run.most


def as_timed(run: Run, theirs: dict) -> None:
    """The same once more, beside `timeline` in fractions of a unit."""
    line = timeline(run.schedule, run.times)
    lanes = [[[str(t.action), grains(t.start), grains(t.end)] for t in line.of(r)] for r in range(run.schedule.nranks)]
    assert theirs["lanes"] == lanes and theirs["idle"] == [grains(idle) for idle in line.idle]
    assert theirs["makespan"] == grains(line.makespan)
    assert Fraction(sum(theirs["idle"]), run.all_time) == line.bubble


def half(spec: PipelineSpec) -> str:
    """What stands under the slider, by brute force."""
    by = spec.nranks if spec.schedule == "interleaved" or spec.versus == "interleaved" else 1
    all_ = {m: replace(spec, nmicrobatches=m, versus="").runs[0] for m in range(by, 33, by) if m >= spec.nmicrobatches}
    here = all_[spec.nmicrobatches]
    idle = {m: run.idle_until(run.makespan) for m, run in all_.items()}
    if not idle[spec.nmicrobatches]:
        return "Nothing is idle: there is no bubble."
    said = []
    for whole, name in (
        (lambda run: run.all_time, "all time"),
        (lambda run: run.schedule.nranks * run.useful, "the useful time"),
    ):
        now = Fraction(idle[spec.nmicrobatches], whole(here))
        found = next((m for m, run in all_.items() if Fraction(idle[m], whole(run)) <= now / 2), None)
        where = f"from {found} microbatches on" if found else f"with no number up to {max(all_)}"
        said.append(f"Half of {percent(idle[spec.nmicrobatches], whole(here))} of {name}: {where}.")
    return " ".join(["Bars: the bubble by the number of microbatches.", *said])


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_page_has_pythons_orders(name):
    """What is unpacked is the order that runs; every size of up to 8 microbatches, and the largest."""
    told = known()[name]["programs"]
    assert set(told) == {f"{p}.{m}.{v}" for p, m, v in sizes(name)}
    for p, m, v in sizes(name):
        words = told[f"{p}.{m}.{v}"].split(" ")
        assert len(words) == p
        if m <= 8 or (p, m) == (8, 32):
            s = SCHEDULES[name](p, m, v)
            assert [unpacked(word) for word in words] == [letters(program, p) for program in s.computed]


def test_packing_is_undone():
    rng = random.Random(3)
    for _ in range(300):
        text = "".join(
            rng.choice(["a", "aB", "iwa", "bbb", "D" * 12]) * rng.randint(1, 12) for _ in range(rng.randint(1, 9))
        )
        assert unpacked(packed(text)) == text and len(packed(text)) <= len(text)


def test_the_grains_hold_every_quarter_of_up_to_four_stages():
    assert all(
        grains(Fraction(quarters, 4) / v) * v == quarters * GRAINS // 4
        for quarters in range(1, 33)
        for v in (1, 2, 3, 4)
    )
    with pytest.raises(ValueError, match="no multiple of 1/48"):
        grains(Fraction(1, 5))
