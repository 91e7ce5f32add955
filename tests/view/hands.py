"""What a reader's hands and eyes do with one widget on a page."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def choose(page: Page, name: str, option: str) -> None:
    """As a hand does: what is chosen from has the focus."""
    box = page.get_by_role("combobox", name=name, exact=True)
    box.focus()
    box.select_option(option)


def sentence(page: Page) -> str:
    return page.locator(".bim-sentence").first.inner_text()


def said(page: Page) -> str:
    """What a screen reader has heard last."""
    return page.locator("[aria-live=polite]").first.inner_text()


def figure(page: Page, name: str) -> str:
    return page.locator(".bim-readout div", has_text=name).locator("strong").inner_text()


def copied(where: Page | Locator, what: str) -> str:
    """The clipboard after "Copy link" or "Copy as Python" of the page's widget, or of one of several."""
    where.get_by_role("button", name=f"Copy {what}", exact=True).click()
    where.get_by_role("status").filter(has_text=f"{what.removeprefix('as ').capitalize()} copied.").wait_for()
    return (where if isinstance(where, Page) else where.page).evaluate("navigator.clipboard.readText()")
