"""What the calculator's page adds up is what Python adds up, term by term and operator by operator."""

from __future__ import annotations

import ast
import random

import pytest

from helpers.facts import ACCELERATORS, MODELS
from helpers.memory import Sharding
from helpers.memory.closed_form import FormError, Step, step
from helpers.memory.closed_form.kept import WIDTHS
from helpers.view.calculator.forms import STEPS, TENSORS, forms
from helpers.view.calculator.widget import OFFERED, CalculatorSpec, calculator_spec, computed

CASES = 1000


def some_spec(rng: random.Random) -> CalculatorSpec:
    """Any spec that Python accepts."""
    while True:
        model = rng.choice(list(MODELS.values()))
        common = {"model": model.name, "batch": rng.choice((1, 2, 3, 8, 64)), "device": rng.choice(list(ACCELERATORS))}
        long = (131072,) if common["batch"] < 8 else ()  # beyond 8 PiB JavaScript's numbers are no longer whole
        common["seq"] = rng.choice((1, 7, 128, 1000, 1024, 4096, 8192, *long))
        if model.latent or rng.random() < 0.2:
            return calculator_spec(
                mode="serve", width=rng.choice(OFFERED["width"]), cache=rng.choice(OFFERED["cache"]), **common
            )
        how = {
            "precision": rng.choice(list(WIDTHS)),
            "optimizer": rng.choice(STEPS),
            "attention": rng.choice(("flash", "math")),
            "checkpoint": rng.choice(("none", "selective", "full")),
            "zero": rng.choice((0, 0, 1, 2, 3)),
            "data": rng.choice(OFFERED["data"]),
            "tensor": rng.choice((1, 1, *TENSORS)),
            "sequence": rng.random() < 0.5,
        }
        how["sequence"] &= how["tensor"] > 1
        common["seq"] = min(common["seq"], model.context) if model.positions == "learned" else common["seq"]
        try:
            return calculator_spec(**common, **how)
        except ValueError:
            continue


@pytest.fixture(scope="module")
def specs() -> list[CalculatorSpec]:
    rng = random.Random(23)
    plain = [
        calculator_spec(name, checkpoint=checkpoint, seq=1024)
        for name in MODELS
        if not MODELS[name].latent
        for checkpoint in ("none", "full")
    ]
    return plain + [some_spec(rng) for _ in range(CASES)]


@pytest.fixture(scope="module")
def played(specs, play) -> dict:
    """One node process computes everything."""
    return play("calculator", {"forms": forms(), "specs": specs})


def listed(terms) -> list[dict]:
    return [
        {
            **{name: getattr(term, name) for name in ("name", "cls", "formula", "times", "source", "nbytes")},
            "operators": [[op.name, op.keeps, op.formula, op.nbytes, op.source] for op in term.operators],
        }
        for term in terms
    ]


def test_the_cases_are_many_and_of_every_kind(specs):
    assert len(specs) >= 1000
    training = [spec for spec in specs if spec.mode == "train"]
    for name, values in (("precision", WIDTHS), ("optimizer", STEPS), ("zero", (0, 1, 2, 3)), ("tensor", TENSORS)):
        assert {getattr(spec, name) for spec in training} == set(values)
    assert {spec.model for spec in specs} == set(MODELS)
    assert {spec.mode for spec in specs} == {"train", "serve"}


def test_every_term_and_every_operator_is_the_same(specs, played):
    for spec, got in zip(specs, played["cases"], strict=True):
        made = computed(spec)
        moments = made.moments if isinstance(made, Step) else {"serving": made}
        assert [moment["name"] for moment in got["moments"]] == list(moments)
        for moment, terms in zip(got["moments"], moments.values(), strict=True):
            assert moment["terms"] == listed(terms), (spec, moment["name"])
            assert moment["nbytes"] == terms.total
        assert got["highest"] == (made.where if isinstance(made, Step) else "serving")


def test_a_link_brings_the_same_choice_back(specs, played):
    for spec, got in zip(specs, played["cases"], strict=True):
        assert got["linked"] == spec.as_json() == got["same"]
        assert got["fits"] is True and got["elsewhere"] is None
    assert not any(played["wrong"])


def test_a_recorded_run_stands_beside_its_own_choice_only(specs, played):
    rows = {tuple(row[:4]): row for row in forms()["predicted"]["rows"]}
    shown = 0
    for spec, got in zip(specs, played["cases"], strict=True):
        plain = spec.mode == "train" and (spec.zero, spec.tensor) == (0, 1)
        plain = plain and (spec.precision, spec.optimizer, spec.attention) == ("bf16", "adamw", "flash")
        row = rows.get((spec.model, spec.batch, spec.seq, spec.checkpoint)) if plain else None
        assert (got["run"] or {}).get("peak") == (row[4] if row else None)
        shown += row is not None
        assert got["near"] is None if MODELS[spec.model].latent else got["near"]["model"] == spec.model
    assert shown >= 18


def test_the_copied_python_is_python_and_says_the_same(specs, played):
    for spec, got in zip(specs[:60], played["cases"], strict=False):
        tree = ast.parse(got["python"])
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        if "Sharding(" in got["python"]:
            assert "from helpers.memory import Sharding\n" in got["python"]
        (shown,) = (one for one in calls if one.func.id == "calculator")
        told = {one.arg: ast.literal_eval(one.value) for one in shown.keywords}
        assert calculator_spec(shown.args[0].value, **told) == spec
        for one in calls:
            if one.func.id == "step":
                assert eval(ast.unparse(one), {"step": step, "Sharding": Sharding}).peak == computed(spec).peak


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"model": "Llama-9"}, "model must be one of GPT-2"),
        ({"device": "TPU"}, "device must be one of V100"),
        ({"mode": "rent"}, "mode must be one of train, serve"),
        ({"batch": 0}, "batch must be a whole number from 1"),
        ({"data": 3}, "data must be one of 2, 4"),
        ({"tensor": 3}, "tensor must be one of 1, 2, 4, 8"),
        ({"width": 2}, "to train takes precision"),
        ({"precision": "fp8"}, "precision must be one of"),
        ({"model": "DeepSeek-V3"}, "latent attention"),
        ({"model": "GPT-2", "tensor": 8}, "cannot share heads=12"),
        ({"mode": "serve", "width": 3}, "width must be one of 1, 2, 4"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_name(how, words):
    with pytest.raises(ValueError, match=words):
        calculator_spec(**how)
    assert FormError is not ValueError
