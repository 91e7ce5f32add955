"""The checkers of the chapter `pipeline`: they accept what is right, refuse what is wrong, and real ranks play the first two."""

import re
from fractions import Fraction

import pytest
from solutions import solutions

from helpers.exercises import pipeline as exercise
from helpers.exercises.pipeline import choice, mended, order
from helpers.pipeline import SCHEDULES
from helpers.ranks import Ranks


@pytest.fixture(scope="module")
def four():
    with Ranks(4, backend="gloo") as ranks:
        yield ranks


# an order ------------------------------------------------------------------------------------------------------------------
def in_turn(rank, nranks, m, warm):
    forwards, backwards = ([f"{kind}{k}" for k in range(m)] for kind in "FB")
    turns = [word for pair in zip(forwards[warm:], backwards, strict=False) for word in pair]
    return forwards[:warm] + turns + backwards[m - warm :]


def one_f_one_b(rank, nranks, m):
    return in_turn(rank, nranks, m, min(nranks - rank - 1, m))


def all_forwards_first(rank, nranks, m):
    return in_turn(rank, nranks, m, m)


def as_many_on_every_rank(rank, nranks, m):
    return in_turn(rank, nranks, m, min(nranks - 1, m))


def nothing_ahead(rank, nranks, m):
    return in_turn(rank, nranks, m, 0)


def the_last_microbatch_is_forgotten(rank, nranks, m):
    return one_f_one_b(rank, nranks, m)[:-1]


def a_word_too_much(rank, nranks, m):
    return ["start", *one_f_one_b(rank, nranks, m)]


def test_an_order_is_played_by_four_ranks(four):
    assert order(one_f_one_b, four).passed


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (all_forwards_first, "1 ranks, 2 microbatches: on rank 0 2 microbatches wait at once, in 1F1B 1"),
        (as_many_on_every_rank, "2 ranks, 2 microbatches: on rank 1 2 microbatches wait at once, in 1F1B 1"),
        (nothing_ahead, "2 ranks, 2 microbatches: every rank waits .* in 1F1B 3"),
        (the_last_microbatch_is_forgotten, "rank 0 never does 0B1"),
        (a_word_too_much, "rank 0 has 'start'"),
        (lambda rank, nranks, m: None, "TypeError"),
    ],
)
def test_a_wrong_order_is_refused_before_ranks_play_it(answer, says):
    found = order(answer)
    assert not found.passed
    assert re.search(says, found.message), found.message


def test_gradients_that_are_off_are_refused(monkeypatch):
    """An order that is right on paper, and ranks that find otherwise."""
    monkeypatch.setattr(exercise, "on_ranks", lambda *_, where: [0.0, 0.0, 1e-3, 0.0])
    assert "1.0e-03 from those of one process" in order(one_f_one_b).message


# a schedule that hangs -----------------------------------------------------------------------------------------------------
def swapped(first, second):
    """Wherever one stands right before the other, the other comes first."""

    def answer(program):
        out = list(program)
        for i in range(len(out) - 1):
            if first in out[i] and second in out[i + 1]:
                out[i], out[i + 1] = out[i + 1], out[i]
        return out

    return answer


def everybody_receives_first(program):
    return swapped("SEND_F", "RECV_B")(swapped("SEND_B", "RECV_F")(program))


@pytest.mark.parametrize("rule", [("SEND_B", "RECV_F"), ("SEND_F", "RECV_B")])
def test_a_mended_schedule_is_played_by_four_ranks(rule):
    """Whoever stands earlier sends first, or whoever stands later: one rule along the whole pipeline."""
    assert mended(swapped(*rule)).passed


def test_what_holds_on_paper_is_played(monkeypatch):
    played = []
    note = lambda ranks, fn, s, where: played.append((ranks, fn.__name__, s.nranks, s.nmicrobatches))  # noqa: E731
    monkeypatch.setattr(exercise, "on_ranks", note)
    assert mended(swapped("SEND_B", "RECV_F")).passed
    assert played == [(4, "messages_alone", 4, 8)]


def test_the_page_s_solution_is_one():
    assert mended(solutions("pipeline")["my_program"]).passed


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda program: program, "deadlock: rank 0, step 4 .*a circle"),
        (swapped("RECV_B", "SEND_F"), "deadlock"),
        (everybody_receives_first, "deadlock: .* waits to receive"),
        (lambda program: [a for a in program if "SEND" not in a], "the same actions, each once"),
        (lambda program: program + program[:1], "the same actions, each once"),
        (lambda program: sorted(program), "deadlock|the computations have another order"),
        (lambda program: None, "TypeError"),
    ],
)
def test_what_still_hangs_or_is_another_schedule_is_refused(answer, says):
    found = mended(answer)
    assert not found.passed
    assert re.search(says, found.message), found.message


# a choice ------------------------------------------------------------------------------------------------------------------
def tried(nranks, layers, sequences, room, share):
    for v in range(1, layers + 1):
        for m in range(1, sequences + 1):
            if sequences % m or layers % (nranks * v) or (v > 1 and m % nranks):
                continue
            held = min(nranks, m) if v == 1 else Fraction(min((v + 1) * nranks - 1, v * m), v)
            if Fraction(nranks - 1, v * m + nranks - 1) <= share and held * Fraction(sequences, m) <= room:
                return m, v
    return None


def with_1f1b_s_memory(nranks, layers, sequences, room, share):
    """The bubble of an interleaved order and the memory of a plain one."""
    for v in range(1, layers + 1):
        for m in range(1, sequences + 1):
            if sequences % m or layers % (nranks * v) or (v > 1 and m % nranks):
                continue
            if Fraction(nranks - 1, v * m + nranks - 1) <= share and Fraction(nranks * sequences, m) <= room:
                return m, v
    return None


def test_a_choice_within_both_limits():
    assert choice(tried).passed


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda p, layers, sequences, room, share: (sequences, 1), "a bubble of 0.273"),
        (lambda p, layers, sequences, room, share: (p, 1), "a bubble of 0.429"),
        (lambda p, layers, sequences, room, share: (sequences, layers // p), "rank 0 holds"),
        (lambda p, layers, sequences, room, share: None, "there is a choice"),
        (lambda p, layers, sequences, room, share: (3, 2), r"got \(3, 2\)"),
        (lambda p, layers, sequences, room, share: sequences, "got 16"),
        (with_1f1b_s_memory, r"\(16, 2\) has a bubble of 0.179, and rank 0 holds 11.5 sequences"),
        (lambda *case: tried(*case) or (case[2], 1), "room for 4, a share of 1/10: .* bubble of"),
    ],
)
def test_a_choice_beyond_a_limit_is_refused(answer, says):
    found = choice(answer)
    assert not found.passed
    assert re.search(says, found.message), found.message


def test_a_choice_that_just_fits_is_one(monkeypatch):
    """9 microbatches on 4 ranks: 3 of 12 slots are idle, and 4 microbatches of one sequence wait."""
    monkeypatch.setattr(exercise, "BUDGETS", ((4, 32, 9, 4, Fraction(1, 4)),))
    assert choice(lambda *case: (9, 1)).passed
    assert "there is a choice" in choice(lambda *case: None).message
    assert "a multiple of 4 microbatches" in choice(lambda *case: (9, 2)).message, "interleaving wants that"


def test_every_size_that_is_asked_for_exists():
    for nranks, m in exercise.SIZES:
        SCHEDULES["1f1b"](nranks, m)
