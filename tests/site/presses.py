"""What a reader presses in every widget of a page: what is shown and what is said must change."""

import re


def press_everything(page):
    """Every widget on the page, whatever its kind."""
    step_every_player(page)
    choose_in_every_primitive(page)
    step_every_memory(page)
    choose_in_every_calculator(page)
    step_every_allocator(page)


def step_every_player(page):
    """Press forward in each player: what it shows and what it says must change."""
    players = page.locator('.bim-mount[data-kind="player"]')
    for i in range(players.count()):
        player = players.nth(i)
        before = player.inner_text(), spoken(player)
        player.get_by_role("button", name=re.compile("forward|next", re.IGNORECASE)).first.click()
        page.wait_for_function(
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
        page.wait_for_function(
            "i => !document.querySelectorAll('.bim-segments')[i].querySelector('[aria-live]').textContent.startsWith('Start')",
            arg=i,
        )
        assert widget.locator(".bim-cell").count() > 0
        said = spoken(widget)
        widget.get_by_role("combobox", name="Segments", exact=True).select_option("expandable")
        assert "mapped" in spoken(widget)
        assert spoken(widget) != said


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


def spoken(player) -> str:
    """What the player's live region says."""
    return player.locator("[aria-live]").first.text_content()
