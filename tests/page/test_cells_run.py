"""A block as a page runs it: what it shows, what its errors say, and what stands in for missing packages."""

import pytest

from tests.page.without import play

CASES = {
    "value": ["1 + 1", "x = 3; x;", "x  # shown; not quiet", "None", "print('a')\nx"],
    "kept": ["def f():\n    return y", "y = 2", "f()"],
    "shown": ["class A:\n    _repr_html_ = lambda self: '<b>'\n    __repr__ = lambda self: 'A'\nA()", "display(1, 2)"],
    "raised": [
        "def f():\n    return 1 / 0",
        "f()",
        "from helpers.units import parse_nbytes\nparse_nbytes('3 apples')",
        "def (",
    ],
    "absent": [
        "import torch, torch.distributed as dist, numpy as np\nfrom helpers.ranks import RankError, Ranks",
        "class Mine(torch.nn.Module):\n    def forward(self, x: torch.Tensor | None) -> np.ndarray:\n        return x",
        "isinstance(3, torch.Tensor)",
        "Ranks(4)",
        "for batch in torch.utils.data: pass",
        "1 + torch.pi",
        "Mine()",
        "try:\n    Ranks(4)\nexcept RankError:\n    print('not this one')",
        "import jax.numpy",
        "import nowhere",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def told():
    return play(CASES)


def plain(found: dict) -> list[str]:
    return [bundle["text/plain"] for bundle in found["bundles"]]


def test_the_last_expression_is_shown_unless_a_semicolon_follows(told):
    assert [plain(one) for one in told["value"]] == [["2"], [], ["3"], [], ["3"]]
    assert told["value"][4]["text"] == "a\n"


def test_blocks_share_one_namespace(told):
    assert plain(told["kept"][2]) == ["2"]


def test_a_value_that_has_html_is_shown_by_it(told):
    assert told["shown"][0]["bundles"] == [{"text/html": "<b>", "text/plain": "A"}]
    assert plain(told["shown"][1]) == ["1", "2"]


def test_an_error_shows_the_readers_lines_and_ends_in_the_librarys_words(told):
    _, divided, refused, typo = (one["error"] for one in told["raised"])
    assert 'File "block 2", line 1' in divided
    assert 'File "block 1", line 2, in f\n    return 1 / 0' in divided
    assert refused.endswith("""UnitError: a size looks like "64 MiB", "1 GB" or 4096, got '3 apples'\n""")
    assert refused.count("File ") == 1
    assert typo.endswith("SyntaxError: invalid syntax\n")


def test_what_a_page_lacks_is_imported_and_refused_when_it_is_used(told):
    first, mine, asked, *used = told["absent"]
    assert [one["error"] for one in (first, mine, asked)] == ["", "", ""]
    assert plain(asked) == ["False"]
    lines = [one["error"].splitlines()[-1].partition("Error: ")[2] for one in used[:5]]
    names = ["helpers.ranks.Ranks", "torch.utils.data", "torch.pi", "Mine", "helpers.ranks.Ranks"]
    needs = ["ranks", "torch", "torch", "torch", "ranks"]
    assert lines == [
        f"{name}: this block needs {need}, which a page does not have. The lab runs it: make lab"
        for name, need in zip(names, needs, strict=True)
    ]
    assert used[5]["error"] == ""
    assert used[6]["error"].endswith("ModuleNotFoundError: No module named 'nowhere'\n")
