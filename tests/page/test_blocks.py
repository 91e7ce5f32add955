"""Which blocks run in a page, what they need first, and what the others lack."""

import pytest

from website.blocks import Block, blocks, pages, weighed


def found(*sources):
    return [
        (one.why, one.needs) for one in weighed([Block(number, source) for number, source in enumerate(sources, 1)])
    ]


@pytest.mark.parametrize(
    ("sources", "want"),
    [
        (["x = 1", "y = 2", "x + 1", "z = x + y", "z"], [("", ()), ("", ()), ("", (1,)), ("", (1, 2)), ("", (1, 2, 4))]),
        (["x = 1", "x = x + 1", "x = 5", "x"], [("", ()), ("", (1,)), ("", ()), ("", (3,))]),
        (["rows = []", "rows.append(1)", "rows[0] = 2", "rows"], [("", ()), ("", (1,)), ("", (1, 2)), ("", (1, 2, 3))]),
        (["def f():\n    return later", "later = 1", "f()"], [("", ()), ("", ()), ("", (1, 2))]),
        (["y", "[y for y in range(3)]", "y = 1"], [("a name: y", ()), ("", ()), ("", ())]),
        (["import torch as t", "t.ones(2)", "def f():\n    t.x"], [("", ()), ("torch", (1,)), ("torch", (1,))]),
        (["from helpers.ranks import Ranks", "r = Ranks()", "r.n"], [("", ()), ("ranks", (1,)), ("ranks", (1, 2))]),
        (["from helpers import parallel\nrows = parallel.rows", "rows()"], [("", ()), ("torch", (1,))]),
        (
            ["from helpers.exercises import context as c", "c.two_parts(len)", "c.ring_or_all_to_all(len)"],
            [("", ()), ("torch", (1,)), ("", (1,))],
        ),
        (["from helpers.exercises import ranks", "ranks.store_barrier(len)"], [("", ()), ("threads", (1,))]),
        (["%timeit x", "open('mine.txt')"], [("no plain Python", ()), ("files", ())]),
    ],
)  # fmt: skip
def test_a_block_needs_what_gave_its_names_their_values(sources, want):
    assert found(*sources) == want


def test_a_lab_has_the_blocks_that_its_page_shows():
    ring = blocks(next(page for page in pages() if page.name == "ring.ipynb"))
    assert [one.number for one in ring] == list(range(1, len(ring) + 1))
    (claimed,) = (one for one in ring if "proved for P = 1..64" in one.source)
    assert claimed.output == "✓ proved for P = 1..64; 2(P-1) steps; each rank sends 2(P-1) chunks\n"
    assert not any("keep(" in one.source for one in ring), "what a page hides"
