"""Every block that `website.blocks` says runs in a page does so without what a page lacks, and tells what its lab has saved."""

import pytest

from helpers import view
from tests.page.without import play
from website.blocks import ROOT, Block, blocks, pages

ALONE = ("calculator", "clock", "player", "playground", "primitive")
EVERY = {str(path.relative_to(ROOT)): blocks(path) for path in pages()}


def differences(block: Block, told: dict) -> list[str]:
    """What is not as saved; a chapter has no outputs, and of what changes with every run only that it runs."""
    if told["error"]:
        return [told["error"]]
    kinds = [(told["text"], block.output), *zip(told["bundles"], block.bundles, strict=False)]
    kinds.append((len(told["bundles"]), len(block.bundles)))
    return [f"{got!r} is not {want!r}" for got, want in kinds if got != want] if block.exact else []


def asked(page: str) -> list[Block]:
    return [block for block in EVERY[page] if block.runs]


def test_at_least_so_many_run():
    assert sum(map(len, map(asked, EVERY))) >= 500


@pytest.mark.matrix("every block in a plain Python; in Chromium they run in tests/site/test_every_cell.py")
def test_every_block_that_runs_tells_what_is_saved():
    told = play({page: [block.source for block in asked(page)] for page in EVERY})
    found = {
        f"{page} {block.number}": wrong
        for page in EVERY
        for block, one in zip(asked(page), told[page], strict=True)
        if (wrong := differences(block, one))
    }
    assert found == {}


def test_every_widget_is_mounted_as_natively():
    names = [name for name in view.__all__ if name.startswith("explore_")]
    calls = [*(f"{name}()" for name in (*names, *ALONE)), "segments('a = 1 MiB')", "memory('ddp')"]
    told = play({"widgets": ["from helpers.view import *", *calls]})["widgets"][1:]
    made = [eval(call, vars(view))._repr_mimebundle_()[0] for call in calls]
    want = [{kind: bundle[kind] for kind in ("text/html", "text/plain")} for bundle in made]
    assert [one["bundles"] for one in told] == [[bundle] for bundle in want]


@pytest.mark.matrix("every block after no others but those that it needs")
def test_a_block_needs_only_the_blocks_that_it_names():
    alone = [
        (page, block) for page in EVERY for block in asked(page) if "scoreboard" not in block.source
    ]  # of all so far
    needing = {f"{page} {block.number}": (page, block) for page, block in alone}
    told = play(
        {
            name: [one.source for one in EVERY[page] if one.number in (*block.needs, block.number)]
            for name, (page, block) in needing.items()
        }
    )
    assert {name: wrong for name, (_, block) in needing.items() if (wrong := differences(block, told[name][-1]))} == {}
