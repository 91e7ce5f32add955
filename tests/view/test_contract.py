"""What every widget of the table keeps to, and that a folder and a line make a widget."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from html import unescape

import contract_page
import pytest
from hands import copied, sentence
from lanes import MOVED_BY_A_KEY, some

from helpers.view import widgets as table
from helpers.view.shared.bundle import bundle
from helpers.view.widgets import WIDGETS, Widget, line, mounted
from website.widgets import directive, looked_up, widget_files

DATA_ONLY = re.compile(
    r"^\s*import\b|\bfetch\(|XMLHttpRequest|innerHTML|https?://(?!www\.w3\.org/2000/svg)", re.MULTILINE
)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """What the site has of all widgets."""
    return widget_files()


@pytest.fixture(scope="module")
def static(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    contract_page.write_static(folder, {**files, **looked_up()})
    return folder


@pytest.fixture
def open_widget(open_alone, static):
    """open_widget(widget, link=) -> a page with the widget's example, alive."""
    return opener(open_alone, static)


def opener(open_alone, folder):
    """As open_widget, whatever the browser of open_alone; folder: takes the page."""

    def open_(widget: Widget, link: str = ""):
        page = open_alone(contract_page.write_page(folder, widget, widget.html()) + link)
        page.locator(".bim-mount[data-mounted] .bim-sentence").first.wait_for()
        return page

    return open_


def named(widget: Widget) -> str:
    return widget.name


IN_FIREFOX = [line("player")]
KEYED = [line(name) for name in MOVED_BY_A_KEY]


@pytest.mark.parametrize("widget", mounted(), ids=named)
def test_a_saved_output_is_data_and_a_readable_fallback(widget):
    saved = widget.html()
    assert saved == widget.html()
    assert "<script" not in saved.lower() and not re.search(r"\son\w+=", saved)
    kind, spec = re.search(r'^<div class="bim-mount" data-kind="(\w+)" data-spec="([^"]+)">\n', saved).groups()
    assert kind == widget.name and isinstance(json.loads(unescape(spec)), dict)
    assert re.search(r"<p>[^<]{20,}\.</p>", saved), "one sentence"
    assert saved.count("<table") == 1 and saved.count("<tr>") >= 2


@pytest.mark.parametrize("widget", WIDGETS, ids=named)
def test_a_script_fits_its_budget_and_asks_for_nothing(widget, files):
    assert not DATA_ONLY.search(bundle(widget.entry))
    if widget.example:
        assert len(gzip.compress(files[f"widgets/{widget.name}.js"].encode(), 9)) <= widget.budget
    else:
        assert len(gzip.compress(bundle(widget.entry).encode(), 9)) <= widget.budget


@pytest.fixture(scope="module")
def unscripted(browser):
    """A page that runs no scripts; every test opens its own address in it."""
    with browser.new_context(java_script_enabled=False) as context:
        yield context.new_page()


@pytest.mark.parametrize("widget", mounted(), ids=named)
def test_without_javascript_there_is_a_sentence_and_a_table(widget, unscripted, static):
    unscripted.goto(contract_page.write_page(static, widget, widget.html()))
    mount = unscripted.locator(f".bim-mount[data-kind={widget.name}]")
    assert mount.locator("> p").is_visible() and mount.locator(".bim-fallback").is_visible()


@pytest.mark.parametrize("widget", some(mounted(), KEYED, "one more widget moved by a key"), ids=named)
def test_a_key_changes_what_it_says_and_the_link_brings_it_back(widget, open_widget):
    """By the keyboard alone; what stands below does not jump; the copied link opens to the same state."""
    page = open_widget(widget)
    said, below = sentence(page), top(page)
    press(page, widget.key)
    page.wait_for_function("said => document.querySelector('.bim-sentence').innerText !== said", arg=said)
    assert top(page) == below
    link = copied(page, "link")
    again = open_widget(widget, "#" + link.partition("#")[2])
    assert sentence(again) == sentence(page) != said


@pytest.mark.firefox
@pytest.mark.parametrize("widget", some(mounted(), IN_FIREFOX, "one more widget in Firefox"), ids=named)
def test_firefox_keeps_to_it(widget, open_in_firefox, static):
    test_a_key_changes_what_it_says_and_the_link_brings_it_back(widget, opener(open_in_firefox, static))


LADLE = {
    "__init__.py": '"""A widget that somebody plants."""\n',
    "page.py": '''"""Its directive."""
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.mount import positive

OPTIONS = {"spoons": positive}
KNOWS = {"kitchen": lambda: ["spoon", "fork"]}

def html(argument, options, content=""):
    spec = {"soup": argument, "spoons": options.get("spoons", 1)}
    return mount("ladle", spec, fallback("A ladle of soup, told in one sentence.", ("Soup", "Spoons"), [(argument, 1)]))
''',
    "ladle.css": ".bim-ladle { min-height: 4em; }\n",
    "ladle.mjs": """// One button that counts.
import { h } from "SHARED/dom.mjs";
import { copy } from "SHARED/tools.mjs";

function render({ model, el }) {
  let spoons = Number(/^#ladle-0--spoons-(\\d+)$/.exec(location.hash)?.[1] ?? model.get("spec").spoons);
  const said = h("p", { class: "bim-sentence" });
  const notice = h("p", { role: "status" });
  const tell = () => said.replaceChildren(`${spoons} ${model.get("kitchen")[0]} of ${model.get("spec").soup}`);
  const share = () => { history.replaceState(null, "", `#ladle-0--spoons-${spoons}`); copy(location.href, "Link", notice); };
  const range = h("input", { type: "range", min: 1, max: 9, value: spoons, "aria-label": "Spoons",
    input: () => { spoons = +range.value; tell(); } });
  el.append(h("div", { class: "bim-ladle" }, said, range, h("button", { type: "button", click: share }, "Copy link"), notice));
  tell();
}

export default { render };
""",
}


@pytest.fixture
def ladle(tmp_path, monkeypatch) -> Widget:
    """A folder and a line: nothing else is told."""
    for name, text in LADLE.items():
        path = tmp_path / "planted" / "ladle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("SHARED", os.path.relpath(table.SHARED / "page", path.parent)), encoding="utf-8")
    line = Widget("ladle", 3_000, ("leek", {"spoons": 2}, ""), package="planted")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(table, "WIDGETS", (*WIDGETS, line))
    yield line
    for name in [name for name in sys.modules if name.split(".")[0] == "planted"]:
        del sys.modules[name]


def test_a_folder_and_a_line_make_a_widget(ladle, tmp_path, open_alone, unscripted):
    files = widget_files()
    assert files["known/kitchen.js"] == 'BytesInMotion.know("kitchen",["spoon","fork"]);\n'
    assert '"ladle"' in files["widgets/ladle.js"] and '"kitchen"' in files["widgets/ladle.js"]
    assert files["widgets/ladle.css"] == LADLE["ladle.css"]
    assert set(directive(ladle).option_spec) == {"spoons", "lab"}
    test_a_saved_output_is_data_and_a_readable_fallback(ladle)
    test_a_script_fits_its_budget_and_asks_for_nothing(ladle, files)
    contract_page.write_static(tmp_path, files)
    test_without_javascript_there_is_a_sentence_and_a_table(ladle, unscripted, tmp_path)
    test_a_key_changes_what_it_says_and_the_link_brings_it_back(ladle, opener(open_alone, tmp_path))


def press(page, key: str) -> None:
    """The key on the first control that takes it."""
    page.locator({"ArrowRight": "input[type=range], [tabindex='0']", "ArrowDown": "select"}[key]).first.focus()
    page.keyboard.press(key)


def top(page) -> float:
    """Where the text below the widget begins."""
    return page.locator("#below").evaluate("el => Math.round(el.getBoundingClientRect().top + scrollY)")
