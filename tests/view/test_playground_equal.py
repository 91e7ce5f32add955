"""What the playground computes in JavaScript is what Python computes: promises, verdicts word for word, texts and their errors, scores."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import numpy as np
import pytest

from helpers.collectives import PROMISES, Schedule, ScheduleError, Transfer, check, simulate
from helpers.collectives.ports import pieces
from helpers.exercises.answer import NotYetError
from helpers.exercises.puzzles import PUZZLES
from helpers.view.playground.widget import NRANKS, SIZES, begun, targets
from helpers.view.shared.schedules.traces import build, catalogue, links

ARROWS = {"⇒": "=>", "→": "->"}
ODD_NAMES = ["_x", "x(y)", "größe", "x" * 65, "constructor", "x__proto__"]
RANDOM = 700


def shape_of(rng: random.Random) -> tuple[str, int, int, int | None]:
    """Any collective, ranks, chunks and root that fit one another."""
    promise = rng.choice(list(PROMISES.values()))
    nranks = rng.choice(NRANKS)
    nchunks = nranks * rng.randint(1, 2) if promise.chunks_per_rank else rng.choice([1, 2, nranks, 2 * nranks, 16])
    nchunks = nranks * nranks if promise.name == "all_to_all" else nchunks
    return promise.name, nranks, nchunks, rng.randrange(nranks) if promise.rooted else None


def random_schedule(rng: random.Random) -> Schedule:
    """Any schedule that can be; nearly all send what is not there, or break the promise."""
    collective, nranks, nchunks, root = shape_of(rng)
    steps = []
    for _ in range(rng.randint(0, 5)):
        slots = {(rng.randrange(nranks), rng.randrange(nchunks)) for _ in range(rng.randint(1, 6))}
        step = [(rng.choice([r for r in range(nranks) if r != dst]), dst, chunk) for dst, chunk in sorted(slots)]
        rng.shuffle(step)
        steps.append(tuple(Transfer(*t, rng.choice(["copy", "reduce"])) for t in step))
    return Schedule(collective, "random", nranks, nchunks, tuple(steps), root)


def catalogued() -> list[Schedule]:
    """Everything of the catalogue that the playground can draw, as it usually is."""
    every = (build(e["collective"], e["algorithm"], n) for e in catalogue() if not e["switched"] for n in NRANKS)
    return [s for s in every if len(s.steps) <= 64]


def spoiled(rng: random.Random, s: Schedule) -> Schedule:
    """A right schedule made wrong, or not quite: a step or transfer dropped, doubled, turned, moved, added instead of kept."""
    steps = [list(step) for step in s.steps]
    at = rng.randrange(len(steps))
    i = rng.randrange(len(steps[at]))
    t = steps[at][i]
    kind = rng.randrange(7)
    if kind == 0:
        del steps[at]
    elif kind == 1:
        del steps[at][i]
    elif kind == 2:
        steps.insert(at, steps[at])
    elif kind == 3:
        steps[at][i] = t._replace(op="copy" if t.op == "reduce" else "reduce")
    elif kind == 4:
        other = rng.choice([r for r in range(s.nranks) if r != t.src])
        steps[at][i] = t._replace(dst=other)
    elif kind == 5:
        other = rng.randrange(len(steps))
        steps[at], steps[other] = steps[other], steps[at]
    else:
        steps[at][i] = t._replace(chunk=rng.randrange(s.nchunks))
    kept = tuple(tuple(step) for step in steps if step)
    try:
        return Schedule(s.collective, "spoiled--v1.0+_x", s.nranks, s.nchunks, kept, s.root)
    except ScheduleError:  # two writers of one slot: that is for the texts below
        return spoiled(rng, s)


@pytest.fixture(scope="module")
def cases() -> list[Schedule]:
    rng = random.Random(40)
    right = catalogued()
    drawable = [s for s in right if s.steps]
    return [*right, *(spoiled(rng, s) for s in drawable), *(random_schedule(rng) for _ in range(RANDOM))]


def damaged(rng: random.Random, s: Schedule) -> str:
    """The steps of a schedule as somebody might type them, often with a mistake."""
    lines = [" ".join(map(str, step)) for step in s.steps]
    text = "\n".join(lines)
    for arrow, typed in ARROWS.items():
        text = text.replace(arrow, typed) if rng.random() < 0.5 else text
    words = text.split(" ")
    at = rng.randrange(len(words))
    wrong = ["0:0=1", "0-1", ":", "0:1⇒", "x:0→1", "0:a→1", "0:0→1→2", "0:9→1", "0:0→9", "99:0→1", "0:1⇒1", "1:0>1"]
    kind = rng.randrange(5)
    if kind == 0:
        words[at] = rng.choice(wrong)
    elif kind == 1:
        words.insert(at, words[at].split("\n")[0])  # twice in one step
    elif kind == 2:
        words.insert(at, "\n\n  ")
    elif kind == 3:
        words[at:at] = rng.sample(wrong, 2)  # the first of them is the one to name
    text = " ".join(words)
    return f"{str(s).splitlines()[0]}\n{text}" if rng.random() < 0.3 else text


@pytest.fixture(scope="module")
def texts(cases) -> list[tuple[Schedule, str]]:
    rng = random.Random(41)
    sound = [s for s in cases if s.steps]
    odd = [(s, str(s).replace(f" {s.algorithm} ", f" {name} ", 1)) for s, name in zip(sound, ODD_NAMES, strict=False)]
    return [*odd, *((s, damaged(rng, s)) for s in sound[:1200])]


@pytest.fixture(scope="module")
def shapes() -> list[tuple]:
    rng = random.Random(42)
    return [shape_of(rng) for _ in range(300)]


@pytest.fixture(scope="module")
def attempts() -> list[tuple[str, Schedule]]:
    """Answers to every target: all of the catalogue that has its shape, spoiled ones, and steps that break rules."""
    rng, found = random.Random(43), []
    for name in SIZES:
        wanted = begun(name)
        shape = (wanted.collective, wanted.nranks, wanted.root)
        fits = [s for s in catalogued() if (s.collective, s.nranks, s.root) == shape]
        fits += [_joined(s) for s in fits if len(s.steps) > 1]
        found += [(name, s) for s in fits if s is not None] + [(name, spoiled(rng, s)) for s in fits if s is not None]
    return found


def _joined(s: Schedule) -> Schedule | None:
    """The first two steps at once, where that can be."""
    try:
        return Schedule(s.collective, "joined", s.nranks, s.nchunks, ((*s.steps[0], *s.steps[1]), *s.steps[2:]), s.root)
    except ScheduleError:
        return None


def plain(shape: tuple) -> dict:
    return dict(zip(("collective", "nranks", "nchunks", "root"), shape, strict=True))


@pytest.fixture(scope="module")
def played(cases, texts, shapes, attempts, play) -> dict:
    """One node process computes everything."""
    told = {
        "cases": [str(s) for s in cases],
        "shapes": [plain(shape) for shape in shapes],
        "texts": [{"text": text, "shape": _shape(s)} for s, text in texts],
        "tasks": targets(),
        "attempts": [{"name": name, "text": str(s)} for name, s in attempts],
        "known": {"links": links(), "tasks": targets()},
    }
    return play("playground", told)


def _shape(s: Schedule) -> dict:
    names = ("collective", "algorithm", "nranks", "nchunks", "root", "nswitches")
    return {**{name: getattr(s, name) for name in names}, "steps": []}


def verdict(s: Schedule) -> str | None:
    try:
        check(s)
    except ScheduleError as error:
        return str(error)
    return None


def test_there_are_enough_cases_of_every_kind(cases):
    verdicts = [verdict(s) for s in cases]
    assert len(cases) >= 1000
    assert {s.collective for s in cases} == set(PROMISES)
    assert {s.nranks for s in cases} == set(NRANKS)
    assert verdicts.count(None) > 200
    for told in (" sends chunk", " adds into chunk", "last written in step", "never written", " twice", "[nothing]"):
        assert sum(told in (said or "") for said in verdicts) > 20, told


def test_every_verdict_is_pythons_word_for_word(cases, played):
    for s, got in zip(cases, played["cases"], strict=True):
        said = verdict(s)
        assert (got["verdict"] and got["verdict"]["message"]) == said, str(s)


def test_the_place_of_a_verdict_is_the_one_in_its_words(cases, played):
    seen = 0
    for s, got in zip(cases, played["cases"], strict=True):
        told = got["verdict"]
        if told is None:
            continue
        seen += 1
        at = re.search(r"rank (\d+) (?:sends |adds into )?chunk (\d+)", told["message"])
        assert [told["rank"], told["chunk"]] == [int(at[1]), int(at[2])]
        step = re.search(r"(?:^|in )step (\d+)", told["message"])
        assert told["step"] == (int(step[1]) if step else None)
        assert 0 <= told["from"] <= len(s.steps)
    assert seen > 500


def test_a_sum_too_much_is_traced_to_the_step_that_made_it(cases, played):
    """From the step named to the end the slot holds what it must not; just before, it does not."""
    traced = 0
    for s, got in zip(cases, played["cases"], strict=True):
        told = got["verdict"]
        if told is None or "should hold" not in told["message"] or told["from"] in (0, len(s.steps)):
            continue
        states = [state[told["rank"], told["chunk"]] for state in contributions(s)]
        want = PROMISES[s.collective].after(s.nranks, s.nchunks, s.root)[told["rank"], told["chunk"]]
        if (states[-1] > want).any():
            traced += 1
            assert all((state > want).any() for state in states[told["from"] :])
            assert not (states[told["from"] - 1] > want).any()
    assert traced > 20


def contributions(s: Schedule) -> list[np.ndarray]:
    return list(simulate(s, PROMISES[s.collective].before(s.nranks, s.nchunks, s.root)))


def test_every_state_is_simulates(cases, played):
    for s, got in zip(cases, played["cases"], strict=True):
        assert got["states"] == [state.ravel().tolist() for state in contributions(s)], str(s)


def test_every_promise_is_pythons(shapes, played):
    assert {shape[0] for shape in shapes} == set(PROMISES)
    for shape, got in zip(shapes, played["shapes"], strict=True):
        promise, size = PROMISES[shape[0]], shape[1:]
        bits = 1 << np.arange(shape[1])
        assert got["before"] == (promise.before(*size) @ bits).tolist()
        after = promise.after(*size)
        assert got["after"] == np.where((after < 0).any(axis=2), -1, after @ bits).tolist()
        assert Fraction(*got["least"]) == pytest.approx(promise.bus_factor(shape[1]))
        assert len(set(got["counts"])) == len(got["counts"])
        for nchunks in got["counts"]:
            promise.accepts(shape[1], nchunks, shape[3])


def test_moves_are_those_of_the_catalogue(cases, played):
    for s, got in zip(cases, played["cases"], strict=True):
        assert Fraction(*got["moves"]) == Fraction(max((*s.sent(), *s.received())), pieces(s))


def test_a_text_and_a_link_bring_the_schedule_back(cases, played):
    for s, got in zip(cases, played["cases"], strict=True):
        assert got["text"] == str(s)
        assert Schedule.parse(got["text"]) == s
        assert got["linked"] == str(s)
        assert re.fullmatch(r"#[\w.+-]+", got["link"], re.ASCII)


def test_a_link_is_shorter_than_the_text(cases, played):
    long = [(len(got["link"]), len(got["text"])) for got in played["cases"] if len(got["text"]) > 400]
    assert len(long) > 50
    assert all(link < 0.75 * text for link, text in long)
    assert sum(link for link, _ in long) < 0.6 * sum(text for _, text in long)


def test_the_copied_cell_says_what_the_page_says(cases, played, capsys):
    """Every fifth of them is run."""
    for s, got in list(zip(cases, played["cases"], strict=True))[::5]:
        if verdict(s) is None:
            exec(got["cell"], {})
            assert capsys.readouterr().out.startswith(f"{len(s.steps)} steps, ")
        else:
            with pytest.raises(ScheduleError, match=re.escape(got["verdict"]["message"])):
                exec(got["cell"], {})


def parsed(s: Schedule, text: str) -> tuple[Schedule | None, str | None]:
    """What Python makes of a typed text under the shape of a schedule."""
    for arrow, typed in ARROWS.items():
        text = text.replace(typed, arrow)
    header = "" if "nranks=" in text else f"{s.collective} mine {str(s).splitlines()[0].split(' ', 2)[2]}\n"
    try:
        return Schedule.parse(header + text), None
    except ScheduleError as error:
        return None, str(error)


def test_a_text_is_read_as_python_reads_it(texts, played):
    failed = 0
    for (s, text), got in zip(texts, played["texts"], strict=True):
        wanted, message = parsed(s, text)
        if message is None:
            assert got == {"text": str(wanted)}, text
            continue
        failed += 1
        said = got["error"]["message"]
        for typed in (got["error"]["word"],):  # Python has seen the arrows that the typed ones stand for
            said = said.replace(f"got '{typed}'", f"got {_spelled(typed)!r}")
        assert said == message, text
    assert 300 < failed < len(texts) - 300


def _spelled(word: str) -> str:
    return word.replace("=>", "⇒").replace("->", "→")


def test_an_error_names_line_and_word(texts, played):
    for (_, text), got in zip(texts, played["texts"], strict=True):
        if error := got.get("error"):
            assert error["word"] in text.split("\n")[error["line"] - 1].split()


def test_a_target_is_judged_as_its_puzzle_judges(attempts, played):
    """Proof first, then the rules, then steps and moves beside the target."""
    outcomes = []
    for (name, s), got in zip(attempts, played["attempts"], strict=True):
        puzzle, (nranks, nchunks) = PUZZLES[name], SIZES[name]
        assert got["proof"] == verdict(s)
        broken = _broken_rule(puzzle, s)
        assert (got["rule"] and got["rule"]["message"]) == broken
        size, target = puzzle.size(s), puzzle.target(nranks, nchunks)
        assert got["standing"]["reached"] == (size.steps <= target.steps and size.moves <= target.moves)
        outcomes.append((got["proof"] is None, broken is None, got["standing"]["reached"]))
    assert len({name for name, _ in attempts}) == len(SIZES)
    assert (True, True, True) in outcomes and (True, True, False) in outcomes and (True, False, True) in outcomes


def _broken_rule(puzzle, s: Schedule) -> str | None:
    try:
        for rule in puzzle.rules:
            rule(s)
    except NotYetError as error:
        return str(error)
    return None
