"""The widget `primitive` in Chromium, alone on a page from a file: every control pressed, by mouse and by keyboard."""

from __future__ import annotations

from functools import partial

import pytest
import widget_harness
from hands import choose, copied, press, said, sentence
from lanes import some
from playwright.sync_api import Page, expect

from helpers.collectives import OPS, PRIMITIVES
from helpers.view.primitive.rows import number_text
from helpers.view.primitive.widget import PrimitiveSpec, after, primitive_spec

SUM = primitive_spec("all_reduce", 3, "1 2 3")


@pytest.fixture
def open_primitive(open_widget):
    """open_primitive(spec, ..., theme=, width=, live=, ...) -> a page whose clock only `tick` moves; errors on it fail the test."""
    return partial(open_widget, "primitive", clock="manual")


def tick(page: Page, ms: float) -> None:
    page.evaluate("ms => document.querySelector('.bim-primitive').primitive.tick(ms)", ms)


def held(page: Page) -> list[list[str]]:
    """The numbers after the call, a list per rank, [] where nothing is promised."""
    return page.eval_on_selector_all(
        ".bim-after tbody tr",
        "rows => rows.map((row) => [...row.querySelectorAll('button')].map((cell) => cell.innerText.trim()))",
    )


def wanted(spec: PrimitiveSpec) -> list[list[str]]:
    return [[number_text(value) for value in row or ()] for row in after(spec)]


def field(page: Page, rank: int, slot: int):
    return page.get_by_role("textbox", name=f"Rank {rank}, slot {slot}, before", exact=True)


def test_the_first_frame_is_complete_and_silent(open_primitive):
    page = open_primitive(SUM)
    assert held(page) == [["6"], ["6"], ["6"]]
    assert [field(page, rank, 0).input_value() for rank in range(3)] == ["1", "2", "3"]
    assert sentence(page) == "Rank 0 now holds 6 = 1 + 2 + 3, from slot 0 of every rank."
    assert said(page) == ""
    assert page.locator(".bim-line").count() == 3
    assert page.locator(".bim-source").count() == 3
    assert page.locator(".bim-flight i").count() == 0


@pytest.mark.parametrize(
    "name", some(PRIMITIVES, ["all_reduce", "all_to_all", "scatter"], "the other primitives in the browser")
)
def test_every_primitive_on_every_number_of_ranks(open_primitive, name):
    page = open_primitive(SUM)
    choose(page, "Primitive", name)
    for nranks in (2, 5, 8, 16):
        choose(page, "Number of ranks", str(nranks))
        root = 0
        if PRIMITIVES[name].rooted:
            root = nranks - 1
            choose(page, "Root", str(root))
        text = page.get_by_role("textbox", name="All values").input_value()
        rows = [[float(word) for word in row.split()] for row in text.split(";")]
        spec = primitive_spec(name, nranks, rows, root)
        assert held(page) == wanted(spec)
        assert page.locator(".bim-before tbody tr").count() == nranks
        assert PRIMITIVES[name].line(nranks, root) in page.locator("pre").inner_text()
        assert PRIMITIVES[name].use == page.locator(".bim-use").inner_text()
        assert page.locator(".bim-source").count() == len({tuple(at) for at in sources(page)}) >= 1


def sources(page: Page) -> list[list[str]]:
    return page.eval_on_selector_all(".bim-source [data-at]", "all => all.map((one) => one.dataset.at.split(','))")


@pytest.mark.parametrize("op", some(OPS, ["avg"], "every operation in the browser"))
def test_every_operation(open_primitive, op):
    page = open_primitive(primitive_spec("all_reduce", 3, "2 -4 8"))
    choose(page, "Operation", op)
    assert page.evaluate("document.activeElement.ariaLabel") == "Operation"  # focus stays
    assert held(page) == wanted(primitive_spec("all_reduce", 3, "2 -4 8", op=op))
    arithmetic = {
        "sum": "6 = 2 + (-4) + 8",
        "avg": "2 = (2 + (-4) + 8) / 3",
        "max": "8 = max(2, -4, 8)",
        "min": "-4 = min(2, -4, 8)",
        "product": "-64 = 2 × (-4) × 8",
    }
    assert sentence(page) == f"Rank 0 now holds {arithmetic[op]}, from slot 0 of every rank."
    assert f"ReduceOp.{op.upper()}" in page.locator("pre").inner_text()


@pytest.mark.matrix("more of one widget in the browser")
def test_an_operation_is_kept_while_a_primitive_takes_none(open_primitive):
    page = open_primitive(primitive_spec("all_reduce", 2, "4 8", op="avg"))
    choose(page, "Primitive", "all_gather")
    assert held(page) == [["4", "8"]] * 2
    assert page.get_by_role("combobox", name="Operation").count() == 0
    choose(page, "Primitive", "reduce")
    assert page.get_by_role("combobox", name="Operation").input_value() == "avg"
    assert page.evaluate("models[0].saved") == 0  # on a page nobody has to hear of it


def test_the_readers_own_numbers(open_primitive):
    page = open_primitive(SUM)
    field(page, 1, 0).fill("20.5")
    field(page, 1, 0).press("Enter")
    assert held(page) == [["24.5"]] * 3
    assert said(page) == "Rank 0 now holds 24.5 = 1 + 20.5 + 3, from slot 0 of every rank."
    assert page.evaluate("document.activeElement.ariaLabel") == "Rank 2, slot 0, before"
    field(page, 2, 0).fill("4")
    page.keyboard.press("Tab")  # to a cell whose number changes at this moment
    assert page.evaluate("document.activeElement.ariaLabel") == "25.5 = 1 + 20.5 + 4, rank 0, slot 0, after"
    field(page, 2, 0).fill("3")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "Numbers per rank"
    page.get_by_role("textbox", name="All values").fill("1 2; 3 4; 5 6")
    page.get_by_role("textbox", name="All values").press("Enter")
    assert held(page) == [["9"]] * 3  # as many numbers as there are slots
    choose(page, "Numbers per rank", "2")
    assert held(page) == [["9", "12"]] * 3  # what had no slot was kept
    press(page, "Reset")
    assert held(page) == [["33", "36"]] * 3
    press(page, "Random")
    numbers = page.get_by_role("textbox", name="All values").input_value()
    assert held(page) == wanted(primitive_spec("all_reduce", 3, numbers))


@pytest.mark.matrix("more of one widget in the browser")
def test_numbers_are_pasted_as_from_a_sheet(open_primitive):
    page = open_primitive(primitive_spec("all_reduce", 3))
    page.evaluate("navigator.clipboard.writeText('7\\t8\\n9\\t10')")
    field(page, 1, 1).focus()
    page.keyboard.press("Control+v")
    assert page.get_by_role("textbox", name="All values").input_value() == "1 2 3; 11 7 8; 21 9 10"


@pytest.mark.matrix("more of one widget in the browser")
def test_what_of_typed_text_has_no_place_is_said(open_primitive):
    page = open_primitive(primitive_spec("all_reduce", 3))
    box = page.get_by_role("textbox", name="All values")
    for text, said_of_it in [
        ("1 2 3 4 5; 6; 7; 8; 9", "Not on show: 2 numbers beyond the 3 slots of a rank and 2 rows beyond the 3 ranks."),
        ("1 2 3; 4; 5; 6", "Not on show: 1 row beyond the 3 ranks."),
        ("1 2 3; 4 5 6; 7 8 9", ""),
    ]:
        box.fill(text)
        box.press("Tab")
        assert page.get_by_role("status").inner_text() == said_of_it


@pytest.mark.parametrize("text", some(["many", "", "1000001", "1e9", "NaN"], ["many"], "more numbers that are none"))
def test_what_is_no_number_is_marked_and_named(open_primitive, text):
    page = open_primitive(SUM)
    field(page, 0, 0).fill(text)
    field(page, 0, 0).press("Tab")
    assert field(page, 0, 0).get_attribute("aria-invalid") == "true"
    assert f"“{text}” cannot be read" in page.get_by_role("status").inner_text()
    assert held(page) == [["6"]] * 3
    field(page, 0, 0).fill("2")
    field(page, 0, 0).press("Tab")
    assert held(page) == [["7"]] * 3
    assert page.get_by_role("status").inner_text() == ""
    assert page.locator("[aria-invalid]").count() == 0


def test_a_cell_tells_where_it_comes_from(open_primitive):
    page = open_primitive(primitive_spec("all_to_all", 3))
    page.get_by_role("button", name="22, rank 1, slot 2, after").hover()
    assert sentence(page) == "Rank 1 now holds 22, from slot 1 of rank 2."
    assert sources(page) == [["2", "1"]]
    assert said(page) == ""  # pointing is not yet choosing
    page.mouse.move(5, 5)
    assert sentence(page) == "Rank 1 now holds 2, from slot 1 of rank 0."
    page.get_by_role("button", name="1, rank 0, slot 0, after", exact=True).click()
    assert said(page) == sentence(page) == "Rank 0 now holds 1, from its own slot 0."
    assert page.locator(".bim-chosen").get_attribute("data-at") == "0,0"


def test_the_arrow_keys_move_between_cells(open_primitive):
    page = open_primitive(primitive_spec("all_gather", 3))
    assert page.locator(".bim-after [tabindex='0']").count() == 1
    page.get_by_role("button", name="1, rank 1, slot 0, after", exact=True).focus()
    for key, at in [
        ("ArrowRight", "1,1"),
        ("ArrowDown", "2,1"),
        ("ArrowDown", "2,1"),
        ("ArrowLeft", "2,0"),
        ("ArrowUp", "1,0"),
    ]:
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.at") == at
        assert page.locator(".bim-chosen").get_attribute("data-at") == at
    assert sentence(page) == "Rank 1 now holds 1, from slot 0 of rank 0."
    assert page.locator(".bim-after [tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    assert said(page) == sentence(page)


def test_play_moves_cells_and_says_what_came_of_it(open_primitive):
    page = open_primitive(primitive_spec("all_gather", 3))
    press(page, "Play")
    packets = page.locator(".bim-flight i")
    assert packets.count() == 9
    places = set()
    for _ in range(4):
        places.add(packets.first.get_attribute("style"))
        tick(page, 200)
        assert page.locator(".bim-after button span").first.is_hidden()
    assert len(places) == 4
    tick(page, 200)
    assert packets.count() == 0
    assert page.locator(".bim-after button span").first.is_visible()
    assert said(page) == "all_gather: rank 0 holds 1, 11, 21; rank 1 holds 1, 11, 21; rank 2 holds 1, 11, 21."


@pytest.mark.matrix("more of one widget in the browser")
def test_many_cells_travel_as_rows(open_primitive):
    page = open_primitive(primitive_spec("all_reduce", 16))
    press(page, "Play")
    assert page.locator(".bim-flight i").count() == 256
    tick(page, 900)
    assert page.locator(".bim-flight i").count() == 0


@pytest.mark.matrix("more of one widget in the browser")
def test_a_choice_while_it_plays_ends_the_play(open_primitive):
    page = open_primitive(SUM)
    press(page, "Play")
    tick(page, 100)
    choose(page, "Primitive", "broadcast")
    assert page.locator(".bim-flight i").count() == 0
    assert held(page) == [["1"]] * 3
    tick(page, 5000)
    assert page.locator(".bim-line").count() == 1


@pytest.mark.matrix("more of one widget in the browser")
def test_it_plays_in_real_time_and_never_by_itself(open_primitive):
    page = open_primitive(SUM, clock="real")
    page.wait_for_timeout(300)
    assert page.locator(".bim-flight i").count() == 0
    press(page, "Play")
    expect(page.locator("[aria-live=polite]")).to_have_text(
        "all_reduce: rank 0 holds 6; rank 1 holds 6; rank 2 holds 6."
    )


@pytest.mark.matrix("more of one widget in the browser")
def test_reduced_motion_jumps(open_primitive):
    page = open_primitive(SUM, motion="reduce")
    press(page, "Play")
    assert page.locator(".bim-flight i").count() == 0
    assert said(page).startswith("all_reduce: rank 0 holds 6")


@pytest.mark.matrix("more of one widget in the browser")
def test_the_least_that_must_move(open_primitive):
    page = open_primitive(primitive_spec("all_reduce", 4))

    def figures() -> list[str]:
        return [" ".join(text.split()) for text in page.locator(".bim-volumes div").all_inner_texts()]

    assert figures() == [
        "N, a rank's larger buffer 16 B 4 float32",
        "Every rank sends and receives at least 24 B 2N(P − 1)/P, shared evenly",
    ]
    choose(page, "Primitive", "scatter")
    assert figures()[1:] == [
        "The root sends at least 12 B N(P − 1)/P",
        "Every other rank receives at least 4 B N/P",
    ]


def test_the_table_twin_says_it_all(open_primitive):
    page = open_primitive(primitive_spec("reduce_scatter", 2, "1 2; 3 4"))
    page.get_by_text("Where every number comes from").click()
    rows = page.locator("details tbody tr")
    assert [row.split("\t") for row in rows.all_inner_texts()] == [
        ["rank 0", "0", "4 = 1 + 3", "slot 0 of every rank"],
        ["rank 1", "0", "6 = 2 + 4", "slot 1 of every rank"],
    ]
    choose(page, "Primitive", "barrier")
    assert rows.first.inner_text().split("\t")[2] == "3 = max(1, 3)"


@pytest.mark.matrix("more of one widget in the browser")
def test_a_barrier_lets_nobody_leave_early(open_primitive):
    page = open_primitive(primitive_spec("barrier", 3, "3 9 5"))
    assert held(page) == [["9"]] * 3
    assert sentence(page) == "Rank 0 leaves at 9 ms: nobody goes on before rank 1, the last, is there."
    assert page.get_by_role("combobox", name="Numbers per rank").count() == 0


def test_a_link_brings_the_whole_state_back(open_primitive):
    page = open_primitive(SUM, SUM)
    second = page.locator(".bim-primitive").nth(1)
    second.get_by_role("combobox", name="Primitive").select_option("reduce")
    second.get_by_role("combobox", name="Root").select_option("2")
    second.get_by_role("combobox", name="Operation").select_option("min")
    second.get_by_role("textbox", name="All values").fill("-1.5 2 3; 4 5 6; 7 8 0.25")
    link = copied(second, "link")
    page.goto("about:blank")
    page.goto(link)
    again = page.locator(".bim-primitive").nth(1)
    expect(again.get_by_role("textbox", name="All values")).to_have_value(
        second.get_by_role("textbox", name="All values").input_value()
    )
    expect(again.get_by_role("combobox", name="Root")).to_have_value("2")
    expect(again.get_by_role("combobox", name="Operation")).to_have_value("min")
    assert held(page)[:3] == [["6"]] * 3


@pytest.mark.parametrize(
    "hash_",
    [
        "#primitive-0--primitive-all_sum--nranks-2--root-0--op-sum--values-1__2",
        "#primitive-0--primitive-reduce--nranks-2--root-2--op-sum--values-1__2",
        "#primitive-0--primitive-all_to_all--nranks-2--root-0--op-sum--values-1__2",
        "#primitive-0--primitive-all_reduce--nranks-2--root-0--op-sum--values-1__pp",
        "#primitive-0--primitive-all_reduce--nranks-99--root-0--op-sum--values-1__2",
        "#primitive-0--x",
        "#a:b(c",
    ],
)
def test_a_bad_link_leaves_the_widget_as_it_was(open_primitive, hash_):
    page = open_primitive(SUM, hash_=hash_)
    assert held(page) == [["6"]] * 3


def test_python_of_what_is_on_show(open_primitive):
    page = open_primitive(primitive_spec("reduce", 3, "1 -2 3; 4 5.5 6; 7 8 9", root=1, op="max"))
    cell = copied(page, "as Python")
    names: dict = {}
    exec(cell.replace("\n\nprimitive(", "\n\nmade = primitive("), names)
    assert names["made"].spec == primitive_spec("reduce", 3, "1 -2 3; 4 5.5 6; 7 8 9", root=1, op="max").as_json()


@pytest.mark.matrix("more of one widget in the browser")
def test_the_call_is_copied_as_a_cell(open_primitive):
    page = open_primitive(SUM)
    press(page, "Copy as a cell that runs it")
    expect(page.get_by_role("status")).to_have_text("A cell that runs this on real ranks copied.")
    cell = page.evaluate("navigator.clipboard.readText()")
    assert "before = [[1], [2], [3]]" in cell
    assert "dist.all_reduce(x, op=dist.ReduceOp.SUM)" in cell


def test_a_kernel_hears_every_choice_and_is_heard(open_primitive):
    page = open_primitive(SUM, live=True)
    assert page.evaluate("models[0].saved") == 0
    choose(page, "Operation", "max")
    assert page.evaluate("models[0].get('spec')") == SUM.as_json() | {"op": "max"}
    assert page.evaluate("models[0].saved") == 1
    choose(page, "Primitive", "broadcast")
    assert page.evaluate("models[0].get('spec').op") == "sum"  # broadcast takes none
    page.evaluate("spec => models[0].set('spec', spec)", primitive_spec("gather", 2, "5 6", root=1).as_json())
    assert held(page) == [[], ["5", "6"]]
    assert page.evaluate("models[0].saved") == 2  # what came from the kernel is not sent back
    assert page.get_by_role("button", name="Copy link").count() == 0
    page.evaluate("stops[0]()")
    page.evaluate("spec => models[0].set('spec', spec)", SUM.as_json())
    assert held(page) == [[], ["5", "6"]]


SHAPES = [
    (primitive_spec("all_reduce", 4), 1280),
    (primitive_spec("all_reduce", 4), 375),
    (primitive_spec("all_to_all", 8), 375),
    (primitive_spec("scatter", 3, root=1), 375),
    (primitive_spec("all_to_all", 16), 375),
    (primitive_spec("all_gather", 16), 1280),
]


@pytest.mark.parametrize(
    "shown",
    some(SHAPES, SHAPES[:1], "axe, in another shape of a widget"),
    ids=lambda shown: f"{shown[0].primitive}-{shown[1]}",
)
def test_nothing_overflows_and_axe_is_content(open_primitive, shown):
    spec, width = shown
    page = open_primitive(spec, width=width)
    page.get_by_text("Where every number comes from").click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    boxes = page.eval_on_selector_all(
        ".bim-primitive :is(button, select, summary, .bim-box)",
        "all => all.map((one) => one.getBoundingClientRect()).map((box) => Math.min(box.width, box.height))",
    )
    assert min(boxes) >= 25  # a cell of 29 less its gaps: three digits of 11 px
    tops = page.eval_on_selector_all(".bim-column", "all => all.map((one) => one.getBoundingClientRect().top)")
    assert (tops[0] < tops[1]) == (width == 375)  # stacked on a telephone
    assert widget_harness.violations_in_both_themes(page) == []
