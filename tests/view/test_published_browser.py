"""The widget `published` in Chromium: one page, in which everything is pressed, and a reader's own table joins."""

from __future__ import annotations

import gzip
import json
import math
from base64 import b64decode
from functools import partial
from pathlib import Path

import pytest
import test_published_own as own
import widget_harness
from hands import copied
from playwright.sync_api import Locator, Page, expect

from helpers.nccl import parse_nccl_tests
from helpers.units import bandwidth_text, seconds_text
from helpers.view.published.known import known
from helpers.view.published.widget import START, PublishedSpec, explore_published, published_spec
from helpers.view.published.words import name, oddity, reading

TABLE = Path(__file__).parents[1] / "nccl" / "output" / "tables" / "article-4xh100-all_reduce.txt"
DROP = """(text) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], "table.txt"));
    document.querySelector(".bim-published").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
}"""
OTHER = "B200.all_reduce.4.half.2.28.9.in-2.28.9"


@pytest.fixture
def open_published(open_widget):
    """open_published(spec, ..., width=, live=, hash_=) -> a page; errors on it, and requests, fail the test."""
    return partial(open_widget, "published")


def shows(page: Page, spec: PublishedSpec) -> None:
    """What is read off, a mark a size of each curve, its name, and what is odd about it."""
    page = page.locator(".bim-published").first
    expect(page.locator(".bim-sentence")).to_have_text(reading(spec.runs, spec.at))
    for letter, run in zip("abc", spec.runs, strict=False):
        expect(page.locator(f".bim-pub-curve.bim-pub-{letter} .bim-pub-marks > *")).to_have_count(len(run.sizes))
    told = page.locator(".bim-pub-sources > li")
    for i, run in enumerate(spec.runs):
        expect(told.nth(i)).to_contain_text(name(run))
        expect(told.nth(i).locator(".bim-pub-odd")).to_have_count(int(bool(oddity(run))))


def test_everything_that_can_be_pressed(open_published):
    spec = published_spec()
    page = open_published(spec)
    shows(page, spec)
    expect(page.locator(".bim-pub-curve.bim-pub-a .bim-pub-spread")).not_to_have_count(0)
    expect(page.locator(".bim-pub-letter").filter(has_text="A†")).to_have_count(1)
    size = page.get_by_role("slider", name="Size of a call")
    size.press("ArrowRight")
    shows(page, published_spec(at="16 MiB"))
    expect(page.locator("[aria-live=polite]")).to_have_text(reading(spec.runs, 2**24))
    box = page.locator(".bim-pub-chart").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 5, box["y"] + 100, steps=3)
    page.mouse.up()
    shows(page, published_spec(at=512))
    page.get_by_role("combobox", name="What the axis shows").select_option("time")
    expect(page.locator(".bim-pub-chart")).to_contain_text("time of a call")
    for words, kind in (("NCCL's model, dashed", "model"), ("a straight line, dotted", "line")):
        box = page.get_by_role("checkbox", name=words)
        before = page.locator(f"path.bim-pub-{kind}").count()
        box.click()
        expect(page.locator(f"path.bim-pub-{kind}")).to_have_count(3 - before)
    page.get_by_role("button", name="take away B").click()
    shows(page, published_spec(START[0], START[2], at=512))
    page.get_by_role("button", name="take away B").click()
    assert page.get_by_role("button", name="take away").count() == 0
    page.get_by_role("combobox", name="Run of A").focus()
    page.get_by_role("combobox", name="Run of A").select_option("NCCL 2.28.9")
    shows(page, published_spec(OTHER, at=512))
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Run of A"
    page.get_by_role("button", name="Another curve beside it").click()
    expect(page.locator(".bim-pub-sources > li")).to_have_count(2)
    page.get_by_role("combobox", name="GPU of A").select_option("L40S")
    expect(page.locator(".bim-pub-sources > li").first).to_contain_text("all_reduce on 4 L40S, half, NCCL 2.27.3")
    source = page.get_by_text("Where A comes from")
    source.click()
    expect(page.locator(".bim-pub-source a")).to_have_attribute("href", known()["tables"][0]["url"])
    page.get_by_text("All sizes as numbers").click()
    expect(page.locator(".bim-details table")).to_have_count(2)
    expect(page.locator(".bim-details tbody").first.locator("tr")).to_have_count(21)


def test_a_readers_own_table_is_one_more_curve_and_stays_in_the_browser(open_published):
    """A request of any kind fails the test."""
    text = TABLE.read_text(encoding="utf-8")
    out = next(row.out_of_place for row in parse_nccl_tests(text).rows if row.nbytes == 2**23)
    page = open_published(published_spec("H100.all_reduce.4.half.2.29.2.in-2.29.2"))
    widget_harness.answers(page)
    page.get_by_text("Your own numbers beside them").click()
    page.get_by_role("textbox", name="Your own table").fill("my busbw is 355")
    page.get_by_role("button", name="Draw it").click()
    told = page.locator(".bim-pub-yours .bim-told[role=status]")
    expect(told).to_contain_text("this is no output of nccl-tests")
    page.get_by_role("textbox", name="Your own table").fill(text)
    page.get_by_role("button", name="Draw it").click()
    expect(told).to_have_text("yours: all_reduce on 4 ranks, out of place is curve Y.")
    expect(page.locator(".bim-pub-curve.bim-pub-y .bim-pub-marks > *")).to_have_count(28)
    expect(page.locator(".bim-sentence")).to_contain_text(
        f"Y {seconds_text(out.seconds)} ({bandwidth_text(out.busbw)})."
    )
    page.get_by_role("combobox", name="Which of your curves").select_option(index=1)
    expect(told).to_contain_text("in place is curve Y")
    page.get_by_role("slider", name="Size of a call").press("Home")
    expect(page.locator(".bim-sentence")).to_have_text(
        "A call of 8 B: A was not measured there and Y 24.4 µs (0.000492 GB/s busbw, one way per GPU)."
    )
    assert copied(page, "link").endswith("--at-512--axis-busbw--model-1--line-0")
    page.get_by_role("button", name="Take mine away").click()
    expect(page.locator(".bim-pub-curve.bim-pub-y")).to_have_count(0)
    check = {"name": "gpu-bandwidth.json", "mimeType": "application/json", "buffer": json.dumps(own.check()).encode()}
    page.locator("input[type=file]").set_input_files([check])
    expect(told).to_have_text("yours: all_reduce, 2 ranks, nccl, 2 x H100 is curve Y.")
    whole_runs(page, told)
    page.evaluate(DROP, text)
    expect(told).to_have_text("yours: all_reduce on 4 ranks, out of place is curve Y.")
    assert widget_harness.violations_in_both_themes(page) == []
    widget_harness.narrow(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert widget_harness.violations(page, widget_harness.OF_WIDTHS) == []


def whole_runs(page: Page, told: Locator) -> None:
    """What gpu-check packed: its curves, by name; of one GPU none; and files that are not whole, or unfold into gigabytes."""
    sweep = {**own.check(), "name": "gpu-sweep-protocols", "data": own.sweep()}
    run = {"records": {"gpu-check": {}, "gpu-bandwidth": own.check(), "gpu-sweep-protocols": sweep}}
    packed = gzip.compress(json.dumps(run).encode())
    for buffer, words in (
        (packed, "yours: all_reduce, 2 ranks, nccl, 2 x H100 is curve Y."),
        (gzip.compress(b'{"records": {"gpu-check": {}}}'), "this run has no bandwidths by size: it ran on one GPU"),
        (gzip.compress(b'{"records": [null]}'), "this run has no bandwidths by size"),
        (packed[:-9], "run-2xh100.json.gz is packed by gzip and ends too early"),
        (gzip.compress(b" " * 2**27), "run-2xh100.json.gz is longer than 4 MiB"),
    ):
        page.locator("input[type=file]").set_input_files(
            [{"name": "run-2xh100.json.gz", "mimeType": "application/gzip", "buffer": buffer}]
        )
        expect(told).to_contain_text(words)
    options = page.get_by_role("combobox", name="Which of your curves").locator("option")
    expect(options).to_have_text(
        [
            *(f"yours: {one}, 2 ranks, nccl, 2 x H100" for one in own.check()["data"]),
            "yours: all_reduce on 2 ranks, Ring/LL128",
        ]
    )


@pytest.mark.matrix("more of one widget in the browser")
def test_links_and_kernels(open_published):
    key = "H200.all_reduce.8.any.2.27.7.torch.torch-script"
    first, second = published_spec(OTHER), published_spec(key, at="1 GiB", axis="time", model=False)
    tail = "--at-1073741824--axis-time--model-0--line-0"
    page = open_published(first, first, hash_=f"#published-1--curves-{key}{tail}")
    expect(page.locator(".bim-sentence").nth(1)).to_have_text(reading(second.runs, second.at))
    shows(page, first)
    for wrong in (f"curves-nobody{tail}", f"curves-{key}+{key}{tail}", f"curves-{OTHER}{tail}"):
        page.evaluate(f"location.hash = '#published-0--{wrong}'")
        expect(page.locator(".bim-notice").first).to_have_text("This link asks for something that cannot be drawn.")
        page.evaluate(
            "location.hash = '#published-0--curves-B200.all_reduce.4.half.2.28.9.in-2.28.9"
            "--at-8388608--axis-busbw--model-1--line-0'"
        )
        expect(page.locator(".bim-notice").first).to_have_text("")
    page = open_published(first, live=True)
    page.get_by_role("slider", name="Size of a call").press("ArrowLeft")
    assert page.evaluate("models[0].get('spec')") == published_spec(OTHER, at="4 MiB").as_json()
    page.evaluate("spec => models[0].set('spec', spec)", second.as_json())
    shows(page, second)
    assert math.isclose(page.locator(".bim-pub-chart").bounding_box()["height"], 300)
    assert page.get_by_role("button", name="Copy link").count() == 0


def test_in_a_kernel_the_kernel_reads(open_published):
    """The message that the page sends, as ipywidgets hands it over, and the answer that the widget sends."""
    widget = explore_published()
    sent = []
    widget.send = sent.append
    page = open_published(published_spec(), live=True)
    page.get_by_text("Your own numbers beside them").click()
    packed = gzip.compress(TABLE.read_bytes())
    page.locator("input[type=file]").set_input_files(
        [{"name": "table.gz", "mimeType": "application/gzip", "buffer": packed}]
    )
    page.wait_for_function("models[0].sent.length")
    (message,) = page.evaluate("models[0].sent")
    buffers = [memoryview(b64decode(one["bytes"])) for one in message.pop("buffers")]
    widget._handle_custom_msg(message, buffers)
    widget._handle_custom_msg(message | {"ask": "os:getcwd", "args": []}, [])  # nothing but what the widget asks
    assert buffers == [packed] and len(sent) == 1
    page.evaluate("message => models[0].hear(message)", sent[0])
    told = page.locator(".bim-pub-yours .bim-told[role=status]")
    expect(told).to_have_text("yours: all_reduce on 4 ranks, out of place is curve Y.")
    widget._handle_custom_msg({"ask": message["ask"], "number": 2, "args": [3]}, [])
    assert sent[1]["error"] == "AttributeError: 'int' object has no attribute 'startswith'"
