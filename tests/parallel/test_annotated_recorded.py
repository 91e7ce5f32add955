"""recorded/jax-cpu.json: what was recorded agrees with hands where XLA does, is shown where JAX is missing, and is what JAX says today."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest

from helpers.parallel.annotated import LAYOUTS, NoJaxError, blocks, by_hand, by_jax, recording, total
from helpers.parallel.annotated.__main__ import main
from helpers.ranks import recorded

RUN = recorded.load(recording.NAME)
FOUND = RUN.data["layouts"]
needs_jax = pytest.mark.skipif(not by_jax.installed(), reason="needs jax: pip install -r requirements-jax.txt")


def hands(name: str) -> dict:
    return by_hand(recording.TRAINING, LAYOUTS[name], recording.NRANKS)


def test_it_says_with_what_it_was_recorded(root):
    pinned = (root / "requirements-jax.txt").read_text()
    assert f"jax=={RUN.data['jax']} " in pinned and RUN.data["devices"] == recording.NRANKS
    assert f"JAX {RUN.data['jax']}" in RUN.label and f"{recording.NRANKS} virtual devices" in RUN.label
    assert RUN.command == recording.COMMAND and FOUND.keys() == LAYOUTS.keys()


def test_every_layout_trained_as_one_process_does():
    assert all(one["far"] < recording.TRAINING.tolerance for one in FOUND.values())


@pytest.mark.parametrize("name", ["batch cut", "pairs", "pairs, outputs said", "pairs on a mesh"])
def test_the_recorded_bytes_are_those_of_hands(name):
    assert FOUND[name]["sent"] == {"all_reduce": total(hands(name))}


@pytest.mark.parametrize("name", ["the same, gathered", "gathered, computed again"])
def test_the_recorded_reduce_scatters_are_all_reduces(name):
    want = hands(name)
    assert Fraction(FOUND[name]["sent"]["all_reduce"]) == want["all_reduce"][1] + 2 * want["reduce_scatter"][1]
    assert (FOUND[name]["calls"]["all_gather"], FOUND[name]["sent"]["all_gather"]) == want["all_gather"]


def test_where_nobody_gathers_in_words_the_compiler_moves_the_smaller_thing():
    """Eight samples are half as large as a matrix of 16 x 16 here, so activations travel, and fewer bytes than FSDP's."""
    left = FOUND["batch and matrices"]
    assert left["calls"].keys() == {"all_gather", "all_to_all", "all_reduce"}
    assert sum(left["sent"].values()) < total(hands("batch and matrices"))


def test_told_of_matrices_alone_the_compiler_sums_a_residual_pair_as_seldom_as_hands():
    """Two all_reduces of its activations, where DTensor needs both ends to be said."""
    three, four = (RUN.data["blocks"][str(n)] for n in recording.PAIRS)
    assert four["calls"].keys() == {"all_reduce"} and four["calls"]["all_reduce"] - three["calls"]["all_reduce"] == 2
    once = Fraction(2 * (recording.NRANKS - 1), recording.NRANKS) * blocks.nbytes()
    assert four["sent"]["all_reduce"] - three["sent"]["all_reduce"] == 2 * once
    assert max(three["far"], four["far"]) < 1e-10


def test_a_line_for_each_call_and_in_it_its_operation():
    for one in FOUND.values():
        assert len(one["lines"]) == len(one["collectives"]) == sum(one["calls"].values())
        for line, words in zip(one["lines"], one["collectives"], strict=True):
            assert (
                f" {words.split()[0].replace('_', '-')}(%" in line and "metadata" not in line and "channel_id=" in line
            )


def test_explicit_axes_were_refused():
    assert "ambiguous" in RUN.data["explicit"]["pairs"] and RUN.data["explicit"].keys() == set(recording.REFUSED)


def test_without_jax_the_recorded_run_is_shown_and_none_is_made(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delenv(recorded.SWITCH, raising=False)
    monkeypatch.setattr(recorded, "record", lambda *_: pytest.fail("it was recorded"))
    shown = recording.shown()
    assert shown.source == "replay" and shown.data == RUN.data
    for fails in (recording.taken, lambda: by_jax.blocks((1,), 2)):
        with pytest.raises(NoJaxError):
            fails()
    assert main([]) == 1 and "requirements-jax.txt" in capsys.readouterr().err


def test_pages_show_the_recorded_run_and_ask_nobody(monkeypatch):
    monkeypatch.setenv(recorded.SWITCH, "recorded")
    monkeypatch.setattr(recording, "taken", lambda: pytest.fail("JAX was asked"))
    assert recording.shown().source == "replay"


def test_with_jax_the_lab_shows_what_it_says_now(monkeypatch):
    monkeypatch.delenv(recorded.SWITCH, raising=False)
    monkeypatch.setattr(by_jax, "installed", lambda: True)
    monkeypatch.setattr(recording, "taken", lambda: {"jax": "now"})
    monkeypatch.setattr(recording, "version", lambda name: f"of {name}")
    shown = recording.shown()
    assert (shown.source, shown.data, shown.command) == ("live", {"jax": "now"}, recording.COMMAND)
    assert shown.label.endswith("JAX of jax")


@needs_jax
def test_jax_says_today_what_was_recorded():
    """All but rounding, and but for the names that XLA gives to what it fuses."""
    fresh = recording.taken()
    assert fresh["jax"] == RUN.data["jax"] and fresh["explicit"] == RUN.data["explicit"]
    for n, one in fresh["blocks"].items():
        assert {**one, "far": 0} == {**RUN.data["blocks"][n], "far": 0} and one["far"] < 1e-10
    for name, one in fresh["layouts"].items():
        for what in ("calls", "sent", "collectives", "products"):
            assert one[what] == FOUND[name][what], (name, what)
