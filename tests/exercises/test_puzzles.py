"""Every puzzle accepts a reference solution with the full score, and refuses seeded wrong answers with the place."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

from helpers.collectives import CATALOGUE, Nodes, Schedule, Transfer
from helpers.exercises import puzzles, puzzles_judge
from helpers.exercises.puzzles import PUZZLES, scoreboard, solve

ROOT = Path(__file__).parents[2]
PAGE, LAB = ROOT / "book" / "puzzles.md", ROOT / "notebooks" / "puzzles.ipynb"


def by(collective, algorithm):
    return CATALOGUE[collective, algorithm]


def switched(n, nchunks):
    def step(k):
        up = [Transfer(r, n, k, "reduce") for r in range(n)] if k < nchunks else []
        return up + ([Transfer(n, r, k - 1) for r in range(n)] if k else [])

    return Schedule("all_reduce", "switched", n, nchunks, [step(k) for k in range(nchunks + 1)], nswitches=1)


def both_brucks(n):
    return (by("reduce_scatter", "bruck")(n) + by("all_gather", "bruck")(n)).named("all_reduce", "both")


SOLUTIONS = {
    "broadcast_rounds": by("broadcast", "binomial"),
    "scatter_bytes": by("scatter", "binomial"),
    "broadcast_pipeline": lambda n, s: by("broadcast", "ring")(n, 0, s),
    "all_gather_doubling": by("all_gather", "recursive-doubling"),
    "all_gather_any": by("all_gather", "bruck"),
    "reduce_scatter_any": by("reduce_scatter", "bruck"),
    "all_reduce_rounds": by("all_reduce", "recursive-doubling"),
    "all_reduce_both": by("all_reduce", "halving-doubling"),
    "all_reduce_six": both_brucks,
    "all_to_all_pairs": by("all_to_all", "pairwise"),
    "all_reduce_switch": switched,
    "all_reduce_nodes": lambda n: by("all_reduce", "hierarchical")(n, 4),
    "broadcast_trees": lambda n, s: by("broadcast", "two-trees")(n, 0, s),
}


def test_there_is_a_solution_for_each():
    assert list(SOLUTIONS) == list(PUZZLES)
    assert len(PUZZLES) >= 8


@pytest.mark.parametrize("name", PUZZLES)
def test_accepts_the_solution_with_the_full_score(name):
    score = solve(name, SOLUTIONS[name])
    assert score.passed and score.points == 100, score
    assert str(score).startswith(f"Solved. Proved for {PUZZLES[name].held}.\nAt P = {PUZZLES[name].sizes[-1]}")
    assert "64 MiB over NVLink 4" in str(score) and "Better" not in str(score)
    assert score.schedule.nranks == PUZZLES[name].sizes[-1] and score.got == score.target


def test_targets_are_the_formulas():
    for n in range(2, 17):
        log, ring = math.ceil(math.log2(n)), Fraction(n - 1, n)
        assert PUZZLES["broadcast_rounds"].target(n) == (log, log, 0)
        assert PUZZLES["scatter_bytes"].target(n) == (log, ring, 0)
        assert PUZZLES["all_gather_any"].target(n) == (log, ring, 0)
        assert PUZZLES["all_reduce_both"].target(n) == (2 * log, 2 * ring, 0)
        assert PUZZLES["all_to_all_pairs"].target(n) == (n - 1, ring, 0)
        for s in (1, 2, 8):
            assert PUZZLES["broadcast_pipeline"].target(n, s) == (s + n - 2, 1, 0)
            assert PUZZLES["all_reduce_switch"].target(n, s) == (s + 1, 1, 0)
            assert PUZZLES["broadcast_trees"].target(n, s) == (2 * log + s - 2, 1, 0)
    assert PUZZLES["all_reduce_nodes"].target(8) == (8, Fraction(7, 4), Fraction(1, 4))


# wrong ---------------------------------------------------------------------------------------------------------------
def without(build, number):
    """The same schedule less one step."""

    def wrong(*case):
        s = build(*case)
        return replace(s, steps=s.steps[:number] + s.steps[number:][1:])

    return wrong


def at_once(n):
    return Schedule("broadcast", "x", n, 1, [[Transfer(0, r, 0) for r in range(1, n)]], 0)


def partners_only(n):
    """Recursive doubling for powers of two, and whoever has a partner otherwise."""
    steps = [
        [Transfer(r, r ^ d, c) for r in range(n) if r ^ d < n for c in range(r // d * d, min(n, r // d * d + d))]
        for d in (1, 2, 4, 8)
        if d < n
    ]
    return Schedule("all_gather", "x", n, n, steps)


def not_turned_round(n):
    """The gathering with its arrows turned and added, but in the order in which it was."""
    s = by("all_gather", "bruck")(n)
    steps = [[Transfer(t.dst, t.src, t.chunk, "reduce") for t in step] for step in s.steps]
    return Schedule("reduce_scatter", "x", n, n, steps)


def one_tree(n, s):
    return by("broadcast", "binary-tree")(n, 0, s)


def zigzag(n, s):
    """The even chunks down a line and the odd ones down that line turned round, until the two change places."""
    steps = []
    for c in range(s):
        line = list(range(n)) if c % 4 in (0, 3) else [0, *range(n - 1, 0, -1)]
        steps += [[Transfer(a, b, c)] for a, b in pairwise(line)]
    return Schedule("broadcast", "zigzag", n, s, steps, 0)


WRONG = {
    "two ports": ("broadcast_rounds", at_once, r"At P = 3: step 1: rank 0 sends to rank 1 and to rank 2 at once"),
    "two ports in": (
        "reduce_scatter_any",
        lambda n: Schedule(
            "reduce_scatter", "x", n, n, [[Transfer(r, c, c, "reduce") for c in range(n) if c != r] for r in range(n)]
        ),
        "At P = 3: step 1: rank 0 sends to rank 1 and to rank 2 at once",
    ),
    "a lost step": (
        "broadcast_rounds",
        without(by("broadcast", "binomial"), 0),
        "rank 1 chunk 0 holds [nothing], should hold [0] (never written)",
    ),
    "too few partners": (
        "all_gather_any",
        partners_only,
        "At P = 3: all_gather by x, 3 ranks: rank 1 chunk 2 holds [nothing], should hold [2]",
    ),
    "in the old order": (
        "reduce_scatter_any",
        not_turned_round,
        "At P = 4: reduce_scatter by x, 4 ranks: rank 0 chunk 0 holds [0 + 2 + 3], should hold [0 + 1 + 2 + 3]",
    ),
    "added twice": (
        "all_reduce_rounds",
        lambda n: replace(
            by("all_reduce", "recursive-doubling")(n), steps=by("all_reduce", "recursive-doubling")(n).steps * 2
        ),
        "At P = 2: all_reduce by recursive-doubling, 2 ranks: rank 0 chunk 0 holds [0 twice + 1 twice]",
    ),
    "chunks in a bundle": (
        "broadcast_pipeline",
        lambda n, s: Schedule(
            "broadcast", "x", n, s, [[Transfer(r, r + 1, c) for c in range(s)] for r in range(n - 1)], 0
        ),
        "At P = 2, S = 2: step 1: rank 0 sends chunks 0 and 1 to rank 1 in one message",
    ),
    "no matching": (
        "all_to_all_pairs",
        by("all_to_all", "flat"),
        "At P = 4: step 1: rank 0 sends to rank 1, which sends to rank 2",
    ),
    "one sits out": (
        "all_to_all_pairs",
        lambda n: Schedule(
            "all_to_all",
            "x",
            n,
            n * n,
            [[Transfer(a, b, a * n + b), Transfer(b, a, b * n + a)] for a in range(n) for b in range(a)],
        ),
        "At P = 4: step 1: rank 2 sends nothing",
    ),
    "inner in both trees": ("broadcast_trees", one_tree, "At P = 4, S = 2: step 5: rank 1 passes on chunk 1"),
    "no trees": (
        "broadcast_trees",
        zigzag,
        "At P = 3, S = 4: step 5: rank 2 gets chunk 2 from rank 0, and got chunk 0 from rank 1; in a tree all even chunks",
    ),
    "no switch": ("all_reduce_switch", lambda n, s: by("all_reduce", "ring")(n), "expected nswitches=1, got 0"),
    "the switch forgets one": (
        "all_reduce_switch",
        lambda n, s: replace(switched(n, s), steps=[[*switched(n, s).steps[0]][1:], *switched(n, s).steps[1:]]),
        "At P = 2, S = 1: all_reduce by switched, 2 ranks: rank 0 chunk 0 holds [1], should hold [0 + 1]",
    ),
    "a swapped owner": (
        "scatter_bytes",
        lambda n: by("scatter", "binomial")(n).on(range(n), n, [*range(1, n), 0]).named("scatter", "x", 0),
        "At P = 2: scatter by x, 2 ranks: rank 1 chunk 1 holds [nothing], should hold [0]",
    ),
    "a wrong root": ("broadcast_rounds", lambda n: by("broadcast", "binomial")(n, 1), "expected root=0, got 1"),
    "another collective": ("all_reduce_both", by("reduce_scatter", "bruck"), "expected collective=all_reduce"),
    "a constant": ("all_reduce_both", lambda n: by("all_reduce", "ring")(4), "At P = 2: expected nranks=2, got 4"),
    "another cut": ("broadcast_pipeline", lambda n, s: by("broadcast", "ring")(n), "expected nchunks=1, got 2"),
    "no schedule": ("all_reduce_both", lambda n: [], "At P = 2: expected a Schedule, got []"),
    "raises": ("all_reduce_both", lambda n: 1 // 0, "At P = 2: ZeroDivisionError"),
    "out of range": (
        "all_reduce_both",
        lambda n: Schedule("all_reduce", "x", n, 1, [[Transfer(0, n, 0)]]),
        "At P = 2: ScheduleError: dst must lie in 0..1, got 2 in step 1",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_refuses_wrong_answers_with_the_place(what):
    name, answer, says = WRONG[what]
    score = solve(name, answer)
    assert not score.passed and score.points == 0
    assert str(score).startswith("Not yet. At P = ") and says in str(score), score
    assert f"Hint: {PUZZLES[name].hint}" in str(score)


def test_the_counterexample_is_handed_out_with_the_step_in_which_it_shows():
    score = solve("broadcast_rounds", at_once)
    assert (score.schedule.nranks, score.step) == (3, 1)
    score = solve("all_gather_any", partners_only)
    assert score.schedule == partners_only(3) and score.step == len(score.schedule.steps)
    assert solve("all_reduce_both", lambda n: 1 // 0).schedule is None


# right, and dearer or cheaper ----------------------------------------------------------------------------------------
def test_over_the_target_says_by_how_much_and_scores_the_worst_size():
    score = solve("all_reduce_both", by("all_reduce", "ring"))
    assert not score.passed
    assert "Proved for P = 2, 4, 8, 16, but over the target.\nAt P = 4: 6 steps (target 4)" in str(score)
    assert "1.50 N (target 1.50): 2 steps too many.\n" in str(score)
    assert score.points == int(100 * Fraction(8, 30)) and "Score 26 of 100, from P = 16." in str(score)
    assert score.schedule.nranks == 4


def test_too_many_bytes_are_seen_in_the_right_unit():
    score = solve("scatter_bytes", lambda n: by("broadcast", "binomial")(n).cut(n).named("scatter", "all-of-it", 0))
    assert "At P = 2: 1 step (target 1), 1.00 N (target 0.50): 0.5 N too much." in str(score)
    assert score.points == int(100 * Fraction(8, 9) / 4)


def test_a_rail_counts_and_so_does_what_is_better():
    wide = solve("all_reduce_nodes", by("all_reduce", "halving-doubling"))
    assert "1.00 N through the busiest NIC (target 0.25): 0.75 N too much through a NIC (and 2 steps fewer)" in str(
        wide
    )
    assert wide.points == 25
    ring = solve("all_reduce_nodes", by("all_reduce", "ring"))
    assert "6 steps too many and 1.5 N too much through a NIC" in str(ring)


def test_better_than_the_target_is_said():
    """Halving with near partners first: as little across as the hierarchy, in fewer steps."""

    def near_first(n):
        def chunks(r, mask):
            return [c for c in range(n) if not (c ^ r) & mask]

        inwards = [
            [Transfer(r, r ^ d, c, "reduce") for r in range(n) for c in chunks(r ^ d, 2 * d - 1)] for d in (1, 2, 4)
        ]
        out = [[Transfer(r, r ^ d, c) for r in range(n) for c in chunks(r, 2 * d - 1)] for d in (4, 2, 1)]
        return Schedule("all_reduce", "near-first", n, n, inwards + out)

    score = solve("all_reduce_nodes", near_first)
    assert score.passed and score.points == 100
    assert "Better than the target at P = 8: 2 steps fewer." in str(score)


def test_solve_names_the_puzzles():
    assert solve("all_gather_any", by("all_gather", "bruck")) == puzzles.all_gather_any(by("all_gather", "bruck"))
    with pytest.raises(KeyError, match="no puzzle 'x': expected one of broadcast_rounds"):
        solve("x", len)


def test_the_scoreboard_keeps_the_best():
    scores = [solve("all_reduce_both", by("all_reduce", name)) for name in ("halving-doubling", "ring")]
    lines = scoreboard(scores).splitlines()
    assert len(lines) == len(PUZZLES) + 1
    assert lines[7].split() == ["all_reduce_both", "100"] and lines[0].split() == ["broadcast_rounds", "-"]
    assert lines[-1].split() == ["of", str(100 * len(PUZZLES)), "100"]


# the page ------------------------------------------------------------------------------------------------------------
def on_the_page() -> dict[str, str]:
    """The code of each puzzle's solution, in order."""
    parts = re.split(r"^### \d+\. .*\n", PAGE.read_text(), flags=re.M)[1:]
    return {name: re.search(r"```python\n(.*?)```", part, re.S)[1] for name, part in zip(PUZZLES, parts, strict=True)}


def test_the_solutions_on_the_page_meet_their_targets():
    names = {"Schedule": Schedule, "Transfer": Transfer, "CATALOGUE": CATALOGUE}
    for name, code in on_the_page().items():
        exec(code, names)
        answer = names[re.search(r"def (\w+)", code)[1]]
        score = solve(name, answer)
        assert score.points == 100, score
        assert ("Better than the target" in str(score)) == (name == "all_reduce_nodes"), score


def test_page_and_lab_ask_what_the_puzzles_ask():
    lab = "\n".join(cell.source for cell in nbformat.read(LAB, as_version=4).cells)
    for number, puzzle in enumerate(PUZZLES.values(), 1):
        for text in (PAGE.read_text(), lab):
            assert f"# {number}. {puzzle.title}\n\n{puzzle.task}" in text
        assert puzzle.hint in PAGE.read_text()
        moves = "$N$" if puzzle.moves == 1 else rf"${tex(puzzle.moves)}\,N$"
        assert f"${tex(puzzle.steps)}$ steps, moves of {moves}" in PAGE.read_text()


def tex(form: object) -> str:
    return str(form).replace("⌈", r"\lceil").replace("⌉", r"\rceil").replace("log2", r"\log_2")


def test_no_start_of_the_lab_is_on_target():
    cells = [c for c in nbformat.read(LAB, as_version=4).cells if "\nattempt(puzzles." in c.get("source", "")]
    answers = [output["text"] for cell in cells for output in cell.outputs if "text" in output]
    assert len(answers) == len(PUZZLES) + 1
    assert all(answer.startswith("Not yet. ") for answer in answers)


def test_a_nic_is_counted_where_it_sends_and_where_it_receives():
    """Three nodes send to the fourth: its own NIC passes three, each of theirs one."""
    network = next(puzzle.network for puzzle in PUZZLES.values() if isinstance(puzzle.network, Nodes))
    size = network.gpus
    steps = [[Transfer(node * size, 3 * size, 0, "reduce")] for node in range(3)]
    assert puzzles_judge._through_nics(Schedule("reduce", "own", 4 * size, 1, steps, root=3 * size), network) == 3
