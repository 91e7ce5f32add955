"""The widget `published`: JavaScript unpacks, computes and says what Python does, and what cannot be drawn is refused."""

from __future__ import annotations

import ast
import random

import pytest
import traitlets

from helpers.nccl.published import published
from helpers.view import explore_published
from helpers.view.published import page
from helpers.view.published.known import known, steps, ways
from helpers.view.published.widget import START, PublishedSpec, published_html, published_spec
from helpers.view.published.words import misses, name, oddity, reading, summary

CASES = 1000


def cases() -> list[PublishedSpec]:
    """Runs at random, one to three at once, at a size that one of them has."""
    rng = random.Random(14)
    found = []
    for _ in range(CASES):
        some = rng.sample(published(), rng.randint(1, 3))
        size = rng.choice(sorted({size for run in some for size in run.sizes}))
        flags = {"model": rng.random() < 0.5, "line": rng.random() < 0.5}
        found.append(published_spec(*(run.key for run in some), at=size, axis=rng.choice(("busbw", "time")), **flags))
    return found


@pytest.fixture(scope="module")
def played(play):
    """(the cases, what JavaScript made of them and of all runs)."""
    specs = cases()
    return specs, play("published", {"known": known(), "specs": specs})


def test_every_run_is_unpacked_and_computed_as_in_python(played):
    for run, got in zip(published(), played[1]["runs"], strict=True):
        model = run.model and [{"seconds": one.nanoseconds / 1e9, "way": one.way} for one in run.model]
        assert got == {
            "key": run.key,
            "table": run.table,
            "sizes": list(run.sizes),
            "seconds": list(run.seconds),
            "busbw": list(run.busbw),
            "ends": [[of(cell) / 1e9 for cell in run.times] for of in (min, max)] + [list(map(len, run.times))],
            "model": model,
            "line": run.line and list(run.line),
            "misses": misses(run),
            "name": name(run),
            "summary": summary(run),
            "oddity": oddity(run),
        }


def test_every_state_is_read_off_and_linked_as_in_python(played):
    for spec, got in zip(*[played[0], played[1]["specs"]], strict=True):
        assert got["reading"] == reading(spec.runs, spec.at)
        assert (got["linked"], got["fits"]) == (spec.as_json(), True)
        call = ast.parse(got["python"]).body[-1].value
        told = {one.arg: one.value.value for one in call.keywords}
        assert published_spec(*(one.value for one in call.args), **told) == spec


def test_times_are_told_by_their_differences():
    assert steps([[8980], [9080], [9060, 9090, 9100]]) == "8980 100 -20,30,10"
    assert ways(next(run.model for run in published() if run.model))[0] == ["Ring LL", 12]


def test_what_a_reader_without_scripts_has():
    html = published_html(published_spec())
    assert "A call of 8 MiB: A 85.1 µs (148 GB/s busbw, one way per GPU), B 48.1 µs (261 GB/s) and C 84.9 µs" in html
    assert "<td>8 MiB</td><td>85.1</td><td>148</td><td>48.1</td><td>261</td><td>84.9</td><td>148</td>" in html
    assert html.count("<tr>") == 22
    mixed = published_html(published_spec(START[0], "H200.all_reduce.8.any.2.27.7.nvls"))
    assert "<td>8 GiB</td><td>–</td><td>–</td>" in mixed
    assert page.html(" ".join(START), {"at": "8 MiB"}) == page.html("", {}) == html


def test_what_is_odd_is_said():
    said = {key: oddity(run) for key, run in ((run.key, run) for run in published())}
    assert said[START[0]].startswith("† The rows state NCCL 2.29.2, the folder that they lie in says 2.27.3.")
    assert said[START[1]] == ""
    assert said["H100.all_gather.8.half.none.in-2.23"] == "The rows state no version: the folder's is taken."
    assert said["H200.all_reduce.8.any.2.27.7.torch.torch-script"].startswith("Published as bandwidths")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: published_spec("B200.all_reduce.4.half.2.27.5"), "no published run .*; close: B200.all_reduce.4.half"),
        (lambda: published_spec(*START, "A100.all_reduce.2.half.2.27.3.in-2.27.3"), "one to 3 different runs, got"),
        (lambda: published_spec(START[0], START[0]), "one to 3 different runs"),
        (lambda: published_spec(at="1 GiB"), "at is a size that was measured, 512 B to 512 MiB, got '1 GiB'"),
        (lambda: published_spec(at=True), "got True"),
        (lambda: published_spec(axis="algbw"), "axis is one of busbw, time, got 'algbw'"),
        (lambda: published_spec(line=1), "line is True or False, got 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_kernel_hears_of_another_run_and_cannot_be_told_nonsense():
    widget = explore_published(START[1])
    saved = widget.html()
    widget.spec = published_spec("L40S.all_reduce.8.half.2.27.3.in-2.27.3").as_json()
    assert [run.gpu for run in widget.runs] == ["L40S"] and widget.html() == saved
    assert repr(widget).startswith("PublishedWidget(A call of 8 MiB: A 48.1 µs")
    with pytest.raises(traitlets.TraitError, match="no spec of published runs: no published run 'x'"):
        widget.spec = {**published_spec().as_json(), "curves": ["x"]}
    with pytest.raises(traitlets.TraitError, match="no spec of published runs"):
        widget.spec = {"curves": list(START)}
