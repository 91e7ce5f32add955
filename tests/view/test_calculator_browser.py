"""The widget `calculator` in Chromium, alone on a page from a file: every control pressed, each term opened, and what is said read."""

from __future__ import annotations

from functools import partial

import pytest
import widget_harness
from hands import choose, copied, said, sentence
from lanes import some
from playwright.sync_api import Page

from helpers.facts import MODELS
from helpers.memory.closed_form import step
from helpers.view.calculator.forms import DEVICES
from helpers.view.calculator.widget import (
    Calculator,
    CalculatorSpec,
    calculator_html,
    calculator_sentence,
    calculator_spec,
    computed,
)

GIB = 2**30
PLAIN = calculator_spec("Llama-2-7B", seq=4096)


@pytest.fixture
def open_calculator(open_widget):
    """open_calculator(spec, ..., theme=, width=, live=, ...) -> a page; errors on it fail the test."""
    return partial(open_widget, "calculator")


def gib(page: Page) -> float:
    """The figure of the sentence."""
    return float(sentence(page).split(": ")[1].split(" GiB")[0].replace(",", ""))


def test_the_first_frame_is_complete_and_silent(open_calculator):
    page = open_calculator(PLAIN)
    made = computed(PLAIN)
    assert (
        gib(page) == round(made.peak / GIB)
        and "at the loss" in sentence(page)
        and "more than one H100" in sentence(page)
    )
    assert said(page) == ""
    assert page.locator(".bim-calc-row").count() == len(made.moments) == 5
    assert page.locator('.bim-calc-row[aria-pressed="true"]').inner_text().startswith("loss")
    assert page.locator(".bim-calc-term summary span").all_inner_texts() == [term.name for term in made.terms]
    assert page.locator(".bim-calc-term summary code").all_inner_texts() == [term.formula for term in made.terms]
    assert "within 0.05 %" in page.locator(".bim-calc-beside").inner_text()
    assert "CUDA context" in page.locator(".bim-calc-beside").inner_text()
    assert "no formula here" in page.locator(".bim-calc-terms").inner_text()  # of the tokens, which a run has


CHANGES = [
    ("Model", "Llama-3-8B", {"model": "Llama-3-8B"}),
    ("Batch", "8", {"batch": 8}),
    ("Tokens", "1024", {"seq": 1024}),
    ("Precision", "fp32", {"precision": "fp32"}),
    ("Precision", "autocast", {"precision": "autocast"}),
    ("Optimizer", "adamw-foreach", {"optimizer": "adamw-foreach"}),
    ("Attention", "math", {"attention": "math"}),
    ("Checkpointing", "full", {"checkpoint": "full"}),
    ("Sharding", "3", {"zero": 3}),
    ("Split of the blocks", "4", {"tensor": 4, "sequence": True}),
    ("Device", "B200", {"device": "B200"}),
    ("Use", "serve", {"mode": "serve"}),
]


def test_every_control_changes_the_sum(open_calculator):
    page = open_calculator(PLAIN)
    first = sentence(page)
    for control, option, change in CHANGES:
        choose(page, control, option)
        made = computed(calculator_spec(**{"model": "Llama-2-7B", "seq": 4096, **change}))
        total = getattr(made, "peak", None) or made.total
        assert gib(page) == pytest.approx(total / GIB, rel=6e-3), control
        assert said(page) == sentence(page) != first
        assert page.evaluate("document.activeElement.ariaLabel") == control  # focus stays
        page.evaluate("spec => models[0].set('spec', {...spec})", PLAIN.as_json())
        assert sentence(page) == first
    assert page.evaluate("models[0].saved") == 0  # on a page nobody has to hear of it


def test_what_a_model_cannot_do_falls_back_is_said_and_comes_again(open_calculator):
    page = open_calculator(calculator_spec("Llama-2-7B", seq=4096, tensor=8))
    first = sentence(page)
    choose(page, "Model", "GPT-2")
    assert f"of {MODELS['GPT-2'].context:,} tokens" in sentence(page)
    assert "GPT-2 has positions for 1,024 tokens, no more. Its blocks cannot be split among 8" in sentence(page)
    assert page.get_by_role("combobox", name="Split of the blocks").input_value() == "0"
    choose(page, "Model", "DeepSeek-V3")
    assert "serves 1 request of 4,096 tokens" in sentence(page)
    assert "What DeepSeek-V3 keeps in training is not counted here: it serves." in sentence(page)
    assert page.get_by_role("combobox", name="Use").locator("option").count() == 1
    choose(page, "Model", "Llama-2-7B")
    assert sentence(page) == first


@pytest.mark.matrix("more of one widget in the browser")
def test_a_context_beyond_the_models_is_said(open_calculator):
    page = open_calculator(PLAIN)
    assert "beyond" not in sentence(page)
    choose(page, "Tokens", "8192")
    assert sentence(page).endswith("That is beyond the 4,096 tokens for which Llama-2-7B was made.")


def test_a_moment_and_a_term_open(open_calculator):
    page = open_calculator(PLAIN)
    page.get_by_role("button", name="optimizer 102 GiB").focus()
    page.keyboard.press("Enter")
    assert "in the optimizer's step" in said(page)
    names = [term.name for term in computed(PLAIN).moments["optimizer"]]
    assert page.locator(".bim-calc-term summary span").all_inner_texts() == names
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    page.get_by_role("button", name="loss 108 GiB").click()
    page.locator("summary", has_text="blocks").focus()
    page.keyboard.press("Enter")
    blocks = computed(PLAIN).terms["blocks"]
    cells = page.get_by_role("region", name="Operators of blocks").locator("tbody tr")
    assert cells.count() == len(blocks.operators)
    assert cells.nth(0).inner_text().split("\t")[-1] == f"{blocks.operators[0].nbytes:,}"
    assert "Korthikanti" in page.locator(".bim-calc-source").inner_text()
    choose(page, "Batch", "2")
    assert page.locator("details.bim-calc-term[open]").count() == 1  # what is open stays open
    doubled = computed(calculator_spec("Llama-2-7B", seq=4096, batch=2)).terms["blocks"].operators[0].nbytes
    assert f"{doubled:,}" in page.get_by_role("region", name="Operators of blocks").inner_text()


@pytest.mark.matrix("more of one widget in the browser")
def test_the_letters_have_their_values(open_calculator):
    page = open_calculator(PLAIN)
    page.get_by_text("What the letters stand for").click()
    region = page.get_by_role("region", name="What the letters stand for")
    assert f"{MODELS['Llama-2-7B'].nparams:,}" in region.inner_text() and "2.69" in region.inner_text()
    page.get_by_role("button", name="All digits").click()
    assert "2.6875" in region.inner_text()
    page.get_by_role("button", name="Copy as CSV").click()
    page.get_by_text("CSV copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0] == "Letter,Stands for,Here" and copied[1] == f"P,parameters,{MODELS['Llama-2-7B'].nparams}"
    assert "r,f / h,2.6875" in copied
    choose(page, "Model", "Mixtral-8x7B")
    assert "experts that a token visits" in region.inner_text()


@pytest.mark.matrix("more of one widget in the browser")
def test_the_nearest_run_is_one_press_away(open_calculator):
    page = open_calculator(calculator_spec("Llama-2-7B", seq=2048, zero=3, batch=2))
    assert "No predicted run is recorded" in page.locator(".bim-calc-beside").inner_text()
    page.get_by_role("button", name="Show the nearest that is").click()
    assert "Predicted run" in page.locator(".bim-calc-beside").inner_text()
    assert page.locator(".bim-calc-run").count() > 3


def test_a_link_brings_the_choice_back(open_calculator):
    page = open_calculator(PLAIN, PLAIN)
    page.get_by_role("combobox", name="Checkpointing").first.select_option("full")
    page.get_by_role("combobox", name="Sharding").first.select_option("2")
    page.get_by_role("button", name="Copy link").first.click()
    address = page.evaluate("location.hash")
    words = sentence(page)
    other = open_calculator(PLAIN, PLAIN, hash_=address)
    assert sentence(other) == words
    assert other.locator(".bim-sentence").nth(1).inner_text() != words
    broken = open_calculator(PLAIN, hash_="#calculator-0--model-Llama-9--mode-train")
    assert "cannot be computed" in broken.get_by_role("status").inner_text()
    place = open_calculator(PLAIN, hash_="#calculator-0--")
    assert place.locator(".bim-notice").inner_text() == "", "a link that asks for nothing is a place"


def test_the_python_is_on_the_clipboard(open_calculator):
    page = open_calculator(PLAIN)
    text = "".join(copied(page, "as Python").split())
    assert 'predict_step("Llama-2-7B",batch=1,seq=4096' in text and 'step("Llama-2-7B"' in text


def test_a_kernel_hears_and_speaks(open_calculator):
    page = open_calculator(PLAIN, live=True)
    choose(page, "Checkpointing", "full")
    assert page.evaluate("models[0].saved") == 1
    assert page.evaluate("models[0].get('spec').checkpoint") == "full"
    page.evaluate("models[0].set('spec', {...models[0].get('spec'), batch: 4})")
    assert "4 sequences" in sentence(page)
    assert page.get_by_role("button", name="Copy link").count() == 0
    page.evaluate("stops[0]()")
    page.evaluate("models[0].set('spec', {...models[0].get('spec'), batch: 8})")
    assert "4 sequences" in sentence(page)


@pytest.mark.parametrize("width", some([375, 1280], [375], "axe, in another shape of a widget"))
def test_it_is_accessible_and_never_scrolls_sideways(open_calculator, width):
    serving = calculator_spec("DeepSeek-V3", mode="serve", batch=64, device="L4")
    page = open_calculator(calculator_spec("Llama-2-70B", zero=3, data=1024, checkpoint="full"), serving, width=width)
    for summary in page.locator("summary").all():
        summary.click()
    assert widget_harness.violations_in_both_themes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_saved_notebook_keeps_the_choice_and_a_table():
    widget = Calculator(calculator_spec("Llama-2-7B", seq=4096, checkpoint="full"))
    assert widget.sentence() == calculator_sentence(CalculatorSpec.read(widget.spec)) in repr(widget)
    assert "optimizer; device H100: 80 GiB" in repr(widget)
    assert widget.terms.total == step("Llama-2-7B", seq=4096, checkpoint="full").peak
    html = widget.html()
    assert (
        html == calculator_html(CalculatorSpec.read(widget.spec))
        and "<script" not in html
        and "<td>momentum</td>" in html
    )
    widget.spec = {**widget.spec, "batch": 2}
    assert widget.html() == html and "2 sequences" in calculator_sentence(CalculatorSpec.read(widget.spec))
    with pytest.raises(Exception, match="batch must be"):
        widget.spec = {**widget.spec, "batch": 0}


def test_every_device_has_a_capacity():
    assert DEVICES["H100"] == 80 * GIB and DEVICES["T4"] == 16 * GIB
