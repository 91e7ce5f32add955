"""Times say their kind, bytes their types, FLOPs what they count: a value without is refused, by its unit and not by words."""

import pytest

from helpers import conventions
from helpers.conventions import WORDS, ConventionError, needs, of_value
from helpers.memory.closed_form.states import PRECISIONS
from helpers.view import keep
from helpers.view.shared import keep as keeping


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [
        ("3.11 ms", "x", {"time"}),
        ("714 tokens/s", "x", {"time"}),
        ("97 GFLOP/s", "x", {"time"}),
        ("12.6 GiB", "x", {"types"}),
        ("64 bytes", "x", {"types"}),
        ("3.94 PFLOP", "x", {"pairs"}),
        ("34.7%", "ms_fsdp_mfu", {"pairs"}),
        ("46.2%", "hfu_best", {"pairs"}),
        ("12.6 GiB in 3 ms", "x", {"time", "types"}),
        ("8 steps", "x", set()),
        ("450 GB/s one way", "x", set()),
        ("14 H100s hold them", "x", set()),
        ("16 FLOP/B", "x", set()),
        ("16 FLOP per byte", "x", set()),
        ("16 FLOP per token", "x", {"pairs"}),
        ("1e15 FLOP in 6.4e-03 s or 3·10⁻³ s", "x", {"time", "pairs"}),
        ("1 hour", "x", {"time"}),
        ("13 milliseconds", "x", {"time"}),
        ("253 tokens a second", "x", {"time"}),
        ("1,024-byte messages", "x", {"types"}),
        ("5 GiB/rank", "x", {"types"}),
        ("1 GB per second", "x", set()),
        ("128 bytes per clock", "x", set()),
        ("40 % MFU", "x", {"pairs"}),
        ("the 70B", "x", set()),
        ("1.75 N", "x", set()),
        ("34.7%", "share", set()),
    ],
)
def test_a_unit_says_what_a_value_has_to_say(text, name, wanted):
    assert needs(text, name) == wanted


def test_keys_are_unique_and_every_precision_of_the_closed_forms_has_words():
    assert len(conventions.KEYS) == sum(map(len, WORDS.values()))
    assert set(PRECISIONS) <= WORDS["types"].keys()


@pytest.mark.parametrize("keys", [("gues",), ("nccl", "price")])
def test_conventions_are_known_and_one_of_a_kind(keys):
    with pytest.raises(ConventionError, match=r"gues|one time"):
        conventions.conventions(*keys)


def test_a_value_takes_what_it_needs():
    said = conventions.conventions("nccl", "in bf16")
    assert of_value("x", "3 ms", said) == {"time": "nccl"}
    assert of_value("x", "a word", said) == {}


@pytest.mark.parametrize("planted", ["3.11 ms", "12.6 GiB", "3.94 PFLOP"])
def test_keep_refuses_a_value_that_says_no_convention(planted):
    with pytest.raises(ConventionError, match="does not say its"):
        keep(planted_value=planted)


def test_keep_refuses_a_convention_that_no_value_needs():
    with pytest.raises(ValueError, match="has to say 'nccl'"):
        keep("nccl", steps="8 steps")


def test_keep_shows_and_hands_on_what_was_said(monkeypatch):
    shown = []
    monkeypatch.setattr(keeping, "display", lambda data, raw: shown.append(data))
    keep("nccl", "size", ring="3.1 ms", size="64 MiB", steps="8 steps")
    assert shown[0][keeping.SAID] == {"ring": {"time": "nccl"}, "size": {"types": "size"}}
    assert shown[0]["text/plain"].splitlines() == ["ring: 3.1 ms  (by NCCL's model)", "size: 64 MiB", "steps: 8 steps"]
