"""What a reader presses in every widget of a page: what is shown and what is said must change."""

import json
import re
from itertools import pairwise

from landing import watch_landings
from tabs import until


def press_everything(page):
    """Every widget on the page, whatever its kind; guesses have `guess_everything`, words that are linked `light_marks`."""
    step_every_player(page)
    choose_in_every_primitive(page)
    step_every_memory(page)
    choose_in_every_calculator(page)
    step_every_allocator(page)
    step_every_pipeline(page)
    step_every_holding(page)
    press_every_mesh(page)
    look_at_all_guesses(page)


KEY = """async () => {
    const key = document.querySelector(".bim-key:has(button)");
    const buttons = [...(key?.querySelectorAll("button") ?? [])];
    const chart = key?.closest(".bim-mount").querySelector(".bim-chart");
    const pressed = () => buttons.map((button) => button.ariaPressed === "true");
    const settled = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const seen = () => chart.data.filter(({ visible }) => visible !== false).length;
    const told = [];
    for (const button of [...buttons, ...buttons.slice(0, -1)]) {
        button.click();
        await settled();
        told.push([pressed(), seen(), buttons.findIndex((one) => one.ariaDisabled === "true")]);
    }
    return [told, document.querySelectorAll(".plotly-notifier .notifier-note").length];
}"""


def press_the_first_key(page):
    """A press in a chart's key takes one away, another brings it back; the last one stays, and nothing pops up."""
    told, notes = page.evaluate(KEY)
    assert notes == 0
    if not told:
        return
    many = (len(told) + 1) // 2
    for i, (pressed, seen, last) in enumerate(told[: many - 1]):
        assert pressed == [k > i for k in range(many)] and seen > 0
        assert last == (many - 1 if i == many - 2 else -1)
    assert told[many - 1] == told[many - 2], "the last one stays"
    assert all(told[-1][0]) and told[-1][1] > told[many - 1][1]


REFERS = "({ nextElementSibling: next }) => next.matches('.bim-wanted') && next.querySelector('a').hash.startsWith('#guess-')"


# Those with a block before them in their own section.
SOLUTIONS = (
    ".bim-predict ~ details.sd-dropdown:not(.bim-surprise), .bim-predict ~ .cell details.bim-waits:not([data-waits])"
)
FOLDED = "details.bim-waits[data-waits]:not([open])"
VEILED = "html[data-reading=guess] .bim-veiled"


def guess_everything(page):
    """Who reads has everything open; who guesses, a guess in each block: nothing is told before it, then the gap and the answer."""
    asked, solution = set(), page.locator(SOLUTIONS).first
    assert page.locator(VEILED).count() == page.locator(FOLDED).count() == 0
    assert page.locator(".bim-predict:not(.bim-exercise) .bim-predict-answer:not(:visible)").count() == 0
    page.locator(".bim-top .bim-reading").click()
    if waits := solution.count():
        solution.locator("summary").click()
        assert solution.get_attribute("open") is None and solution.evaluate(REFERS)
    for block in page.locator(".bim-predict").all():
        asked.add(guess(page, block))
    if asked:
        assert page.locator("details.sd-dropdown").count() or page.locator("details.bim-waits").count()
        assert asked <= set(page.evaluate("Object.keys(BytesInMotion.guesses.stored())"))
        assert page.locator(f"{FOLDED}, .bim-wanted, {VEILED}").count() == 0
    assert not waits or solution.get_attribute("open") is not None


def guess(page, block) -> str:
    """A guess in one block, by key or by hand; what it is kept under."""
    knows = json.loads(block.get_attribute("data-guess"))
    answer, control = block.locator(".bim-predict-answer"), block.locator("input").first
    assert not answer.is_visible() and block.get_attribute("data-told") is None
    if knows["kind"] != "number":  # what nobody moved is no guess, in no way to send it
        assert control.get_attribute("aria-valuetext") == "not set"
        control.press("Enter")
        block.locator("[aria-disabled]").click(force=True)
        assert "Move the mark first" in block.locator(".bim-predict-gap").inner_text()
        assert block.get_attribute("data-told") is None
    if knows["kind"] == "number":
        control.fill(f"{1.02 * knows['truth'][0]:.6f}")
    elif knows["kind"] == "curve":
        draw(page, block)
    else:
        control.press("ArrowUp")
    control.press("Enter")
    gap = block.locator(".bim-predict-gap").inner_text()
    assert gap.endswith(".") and control.is_disabled() and block.get_attribute("data-guessed") is not None
    assert knows["kind"] != "number" or "as good as right" in gap
    return knows["key"]


def draw(page, block):
    """A falling line by hand, so quick that it skips columns: the points lie on it, and the arrow keys move one of them."""
    block.locator("svg").scroll_into_view_if_needed()
    box, points = block.locator("svg").bounding_box(), block.locator("input")
    right, top, bottom = box["x"] + 0.93 * box["width"], box["y"] + 0.2 * box["height"], box["y"] + 0.7 * box["height"]
    page.mouse.move(box["x"] + 0.15 * box["width"], top)
    page.mouse.down()
    page.mouse.move(right, bottom)
    page.mouse.up()
    page.mouse.move(right, top)  # nothing is drawn when no button is down
    drawn = points.evaluate_all("inputs => inputs.map(({ valueAsNumber }) => valueAsNumber)")
    falls = [one - other for one, other in pairwise(drawn)]
    assert max(falls) - min(falls) < 0.011 < min(falls), drawn  # a slider has steps of 0.005
    points.first.press("ArrowUp")
    assert points.first.evaluate("input => input.valueAsNumber") > drawn[0]


FORMER = """(pages) => pages.forEach((page, i) => BytesInMotion.guesses.keep(`${page.split("/")[1]}:x`, {
    kind: "number", said: [4 ** i], truth: [2], unit: "ms", units: { ms: 1e-3 }, text: "2 ms",
    question: "How long?", page, chapter: page, at: "guess-x",
}))"""


def look_at_all_guesses(page):
    """On the page of all guesses: how many are near, a point and a row for each, by chapter; and all forgotten."""
    if not page.locator(".bim-guessed").count():
        return
    assert "No guesses yet" in page.locator(".bim-guessed").inner_text()
    page.evaluate(FORMER, ["book/ring", "book/trees", "notebooks/hangs"])
    page.reload()
    watch_landings(page)  # what the page was told before is gone
    assert (
        "2 of 3 within a factor of two; the middle one of all is 2 times too high."
        in page.locator(".bim-guessed").inner_text()
    )
    assert (page.locator(".bim-guessed circle").count(), page.locator(".bim-guessed tbody tr").count()) == (3, 3)
    page.locator(".bim-guessed select").select_option("hangs")
    assert page.locator(".bim-guessed tbody tr").inner_text().endswith("8 times too high")
    for _ in range(2):
        page.locator(".bim-kept button").last.click()
    assert "No guesses yet" in page.locator(".bim-guessed").inner_text()
    assert page.evaluate("BytesInMotion.guesses.stored()") == {}


def step_every_player(page):
    """Press forward in each player: what it shows and what it says must change."""
    players = page.locator('.bim-mount[data-kind="player"]')
    for i in range(players.count()):
        player = players.nth(i)
        before = player.inner_text(), spoken(player)
        player.get_by_role("button", name=re.compile("forward|next", re.IGNORECASE)).first.click()
        until(
            page,
            "([i, said]) => document.querySelectorAll('.bim-mount[data-kind=player]')[i].querySelector('[aria-live]').textContent !== said",
            arg=[i, before[1]],
        )
        assert player.inner_text() != before[0]


def choose_in_every_primitive(page):
    """Press the last cell after the call and write another number: what is shown and what is said must change."""
    widgets = page.locator('.bim-mount[data-kind="primitive"]')
    for i in range(widgets.count()):
        widget = widgets.nth(i)
        widget.locator(".bim-after button").last.click()
        said, held = spoken(widget), widget.locator(".bim-after").inner_text()
        assert said == widget.locator(".bim-sentence").inner_text()
        for number in widget.locator(".bim-before input").all():
            number.fill("77")
            number.dispatch_event("change")  # Firefox tells by itself only when keys wrote it
        number.press("Tab")
        assert spoken(widget) != said
        assert widget.locator(".bim-after").inner_text() != held


def choose_in_every_calculator(page):
    """Another batch, and the last moment: what is shown and what is said must change."""
    widgets = page.locator('.bim-mount[data-kind="calculator"]')
    for i in range(widgets.count()):
        widget = widgets.nth(i)
        before = widget.locator(".bim-sentence").inner_text()
        widget.get_by_role("combobox", name="Batch", exact=True).select_option("32")
        assert widget.locator(".bim-sentence").inner_text() == spoken(widget) != before
        widget.locator(".bim-calc-row").last.click()
        assert spoken(widget) == widget.locator(".bim-calc-bars + .bim-title, .bim-title").first.inner_text()


def step_every_allocator(page):
    """From the start, one event on, and with the other kind of segments: what is shown and what is said must change."""
    widgets = page.locator('.bim-mount[data-kind="segments"]')
    for i in range(widgets.count()):
        widget = widgets.nth(i)
        widget.get_by_role("button", name="First step").click()
        assert spoken(widget).startswith("Start.")
        assert widget.locator(".bim-cell").count() == 0
        widget.get_by_role("button", name="Step forward").click()
        until(
            page,
            "i => !document.querySelectorAll('.bim-segments')[i].querySelector('[aria-live]').textContent.startsWith('Start')",
            arg=i,
        )
        assert widget.locator(".bim-cell").count() > 0
        said = spoken(widget)
        widget.get_by_role("combobox", name="Segments", exact=True).select_option("expandable")
        assert "mapped" in spoken(widget)
        assert spoken(widget) != said


def step_every_pipeline(page):
    """From the first event to the last, and another number of microbatches: what is shown and what is said must change."""
    widgets = page.locator('.bim-mount[data-kind="pipeline"]')
    for i in range(widgets.count()):
        widget = widgets.nth(i)
        before = widget.locator(".bim-sentence").inner_text()
        widget.locator(".bim-view").press("Home")
        assert "idle so far 0 %" in widget.locator(".bim-sentence").inner_text()
        widget.locator(".bim-view").press("End")
        assert "over" in widget.locator(".bim-sentence").inner_text() != before
        if widget.get_by_role("slider", name="Microbatches").count():
            said = widget.locator(".bim-verdict").inner_text()
            widget.get_by_role("slider", name="Microbatches").press("End")
            assert widget.locator(".bim-verdict").inner_text() != said
            widget.get_by_role("slider", name="Microbatches").press("Home")
        until(
            page,
            "i => document.querySelectorAll('.bim-mount[data-kind=pipeline]')[i].querySelector('[aria-live]').textContent",
            arg=i,
        )


def step_every_holding(page):
    """From the start, one moment on, and under another way: what is shown must change, and is what is said."""
    for widget in page.locator('.bim-mount[data-kind="holds"]').all():
        sentence = widget.locator(".bim-sentence")
        onward = widget.get_by_role("button", name="Step forward")
        onward.press("Home")  # a narrow one has no room for the button of the first step
        before = sentence.inner_text()
        onward.click()
        moved = sentence.inner_text()
        assert moved != before
        ways = widget.get_by_role("combobox", name="Way to share out")
        ways.select_option("ddp" if ways.input_value() != "ddp" else "zero-3")
        assert sentence.inner_text() == spoken(widget) != moved


def press_every_mesh(page):
    """An axis, then a rank: what is shown must change, and is what is said."""
    for widget in page.locator('.bim-mount[data-kind="mesh"]').all():
        sentence = widget.locator(".bim-sentence")
        for button in (".bim-mesh-axis[aria-pressed=false]", ".bim-mesh-rank[aria-pressed=false]"):
            before = sentence.inner_text()
            widget.locator(button).first.click()
            assert sentence.inner_text() == spoken(widget) != before


def step_every_memory(page):
    """Press back in each timeline of memory, then the peak again: what is said must change, and the list is what is said."""
    widgets = page.locator('.bim-mount[data-kind="memory"]')
    for i in range(widgets.count()):
        widget = widgets.nth(i)
        before = widget.locator(".bim-sentence").inner_text()
        widget.get_by_role("button", name="Event back").click()
        assert widget.locator(".bim-sentence").inner_text() == spoken(widget) != before
        widget.get_by_role("button", name="To the peak").click()
        assert "alive: the peak" in spoken(widget)
        whole = widget.locator(".bim-mt-sum strong").inner_text()
        assert widget.locator(".bim-alive tfoot tr > *").nth(1).inner_text() == whole


LIT = """(word) => {
    const lit = (node) => node.querySelectorAll(".bim-lit").length;
    return [word.classList.contains("bim-lit"), lit(document.querySelector(".bim-lighting") ?? word), word.ariaPressed];
}"""
MOVES = """() => {
    const moves = (node) => getComputedStyle(node).transitionDuration !== "0s";
    const soft = [...document.querySelectorAll(".bim-drawn *")].some(moves);
    return [soft, [...document.querySelectorAll(".bim-sketch")].map(({ dataset }) => dataset.moves ?? "")];
}"""


def light_marks(page):
    """A word lights its marks by pointer, key and touch, the mark its word; a slider leaves what comes later faint; all move or none."""
    if not page.locator(".bim-sketch").count():
        return
    word, figure = page.locator(".bim-word").first, page.locator(".bim-sketch").first
    page.mouse.move(1, 1)  # a pointer that rests on the figure lights what is under it
    see_it_play(page, figure)
    word.focus()
    shines, lit, pressed = word.evaluate(LIT)
    assert shines and lit > 1 and pressed == "false"
    players = page.locator('.bim-mount[data-kind="player"]')
    assert players.count() == 0 or players.locator("xpath=self::*[string-length(@data-lit) > 3]").count() == 1
    light_a_chunk(page)
    word.focus()
    word.press("Enter")
    word.dispatch_event("pointerleave")
    assert word.evaluate(LIT) == [True, lit, "true"]
    word.press("Escape")
    assert word.evaluate(LIT) == [False, 0, "false"]
    word.blur()
    word.hover()
    assert word.evaluate(LIT) == [True, lit, "false"]
    mark, svg = (
        page.locator(".bim-lighting svg .bim-lit").first.element_handle(),
        page.locator(".bim-lighting svg").element_handle(),
    )
    page.mouse.move(1, 1)
    assert word.evaluate(LIT) == [False, 0, "false"]
    mark.dispatch_event("pointerover")
    assert word.evaluate(LIT)[0]
    svg.dispatch_event("pointerleave", {"pointerType": "mouse"})
    assert word.evaluate(LIT) == [False, 0, "false"]
    for slider in page.locator(".bim-sketch input").all():
        told = slider.locator("xpath=following-sibling::p")
        slider.press("End")
        last = told.inner_text()
        slider.press("Home")
        assert told.inner_text() == slider.get_attribute("aria-valuetext") != last


CELLS = """() => [...document.querySelectorAll("[data-mounted][data-lit] .bim-memory")].map((memory) => [
    memory.querySelectorAll(".bim-badge").length,
    [...memory.querySelectorAll(".bim-frame")].filter((one) => getComputedStyle(one).strokeWidth === "3px").length,
])"""


def light_a_chunk(page):
    """Its column in the memory of the nearest player, a cell of every rank; and none once the word is left."""
    word = page.locator(".bim-word-chunk").first
    if not word.count():
        return
    word.focus()
    found = page.evaluate(CELLS)
    assert not found or any(ranks == lit for ranks, lit in found), found
    word.blur()
    assert all(lit == 0 for _, lit in page.evaluate(CELLS))


def see_it_play(page, figure):
    """Once in view it plays; where motion is to be reduced nothing does."""
    figure.scroll_into_view_if_needed()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    if page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches"):
        assert page.evaluate(MOVES) == [False, [""] * page.locator(".bim-sketch").count()]
    else:
        until(page, "figure => figure.dataset.moves", arg=figure.element_handle())
        assert page.evaluate(MOVES)[0]


def spoken(player) -> str:
    """What the player's live region says."""
    return player.locator("[aria-live]").first.text_content()
