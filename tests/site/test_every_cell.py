"""Every block of the book that a page can run, in Chromium, in one load of Python: it gives there what is saved."""

import json
import re
from dataclasses import replace

import pytest
from lanes import some_rows

from tests.page.test_every_block import EVERY, asked, differences

# A page begins with no names; the interpreter stays.
FORGET = """
def forget(names):
    given = {name: names[name] for name in ("__name__", "display")}
    names.clear()
    names.update(given)

forget(globals())
"""
RUN = """async (codes) => {
    await BytesInMotion.load("python.js");
    const told = [];
    for (const [code, name] of codes) {
        const one = { text: "", bundles: [] };
        const hears = { text: (said) => { one.text += said; }, shown: (bundle) => one.bundles.push(bundle) };
        const { error } = await BytesInMotion.python.run(code, name, hears);
        told.push({ ...one, error: error ?? "" });
    }
    return told;
}"""
FRACTION = re.compile(r"\d+\.\d+(?:e-?\d+)?")


def near(shown: list) -> list:
    """Numbers to nine digits: the page's Python adds floats more exactly and has other functions; JavaScript writes 2.0 as 2."""

    def rounded(number):
        return f"{float(number):.9g}"

    text = FRACTION.sub(lambda number: rounded(number[0]), json.dumps(shown, ensure_ascii=False))
    return json.loads(text, parse_int=rounded, parse_float=rounded)


SHARES = [([*EVERY][::3], 150), ([*EVERY][1::3] + [*EVERY][2::3], 300)]  # pages, and at least so many blocks on them


@pytest.mark.parametrize(
    ("names", "least"),
    some_rows(SHARES, SHARES[:1], "blocks of the other pages in Chromium"),
    ids=("a third", "the others"),
)
def test_every_block_gives_in_the_page_what_is_saved(address, open_page, names, least):
    page, watch = open_page(address("sample"), "book/plain.html")
    found, ran = {}, 0
    for name in names:
        here = [replace(block, bundles=near(block.bundles)) for block in asked(name)]
        codes = [(FORGET, "begin"), *((block.source, f"block {block.number}") for block in here)]
        for block, told in zip(here, page.evaluate(RUN, codes)[1:], strict=True):
            ran += 1
            if wrong := differences(block, {**told, "bundles": near(told["bundles"])}):
                found[f"{name} {block.number}"] = wrong
    assert found == {}
    assert ran >= least
    watch.assert_clean("every block")
