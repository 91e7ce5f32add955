"""The design language as numbers: every colour is told apart, by everybody, on both pages."""

from itertools import combinations

import pytest
from color import VISION, ciede2000, contrast, seen_difference

from helpers.view.shared.tokens import THEMES, colour, css, plotly_template, series_colour, tokens

MEMORY = ("parameters", "gradients", "optimizer", "input", "cache", "activations", "communication", "temporary")


# Three pairs of the test data that Sharma, Wu and Dalal published with the formula.
@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_ruler_itself(first, second, difference):
    assert ciede2000(first, second) == pytest.approx(difference, abs=5e-5)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["page", "panel"])
def test_marks_stand_out_from_the_ground(theme, ground):
    names = (
        [f"{kind}-{n}" for kind in ("rank", "series") for n in range(8)]
        + [f"memory-{m}" for m in MEMORY]
        + ["wrong", "edge"]
    )
    weak = {n: contrast(colour(n, theme), colour(ground, theme)) for n in names}
    assert {n: c for n, c in weak.items() if c < 3} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read(theme):
    pairs = [(ink, ground) for ink in ("ink", "muted", "accent") for ground in ("page", "panel", "well")]
    pairs += [(word, ground) for word in ("wrong", "right") for ground in ("page", "panel")] + [("ink", "accent-soft")]
    pairs += [(f"on-{kind}-{n}", f"{kind}-{n}") for kind in ("rank", "series") for n in range(8)]
    weak = {pair: contrast(*(colour(name, theme) for name in pair)) for pair in pairs}
    assert {pair: c for pair, c in weak.items() if c < 4.5} == {}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("kind", ["rank", "series"])
def test_eight_of_a_kind_are_told_apart_by_everybody(theme, vision, kind):
    near = {
        (a, b): seen_difference(colour(f"{kind}-{a}", theme), colour(f"{kind}-{b}", theme), vision)
        for a, b in combinations(range(8), 2)
    }
    assert min(near.values()) >= 12, min(near, key=near.get)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISION)
def test_memory_classes_are_told_apart_by_everybody(theme, vision):
    pairs = combinations((colour(f"memory-{m}", theme) for m in MEMORY), 2)
    assert min(seen_difference(a, b, vision) for a, b in pairs) >= 12


@pytest.mark.parametrize("theme", THEMES)
def test_a_series_is_no_rank(theme):
    """Blue is rank 0 and nothing else: whoever sees colours tells every series from every rank."""
    near = {
        (s, r): seen_difference(colour(f"series-{s}", theme), colour(f"rank-{r}", theme), "normal")
        for s in range(8)
        for r in range(8)
    }
    assert min(near.values()) >= 10, min(near, key=near.get)


@pytest.mark.parametrize("theme", THEMES)
def test_wrong_is_a_red_of_its_own(theme):
    others = [name for name in tokens()[theme] if name not in ("wrong", "scheme")]
    nearest = min(others, key=lambda name: seen_difference(colour(name, theme), colour("wrong", theme), "normal"))
    assert seen_difference(colour(nearest, theme), colour("wrong", theme), "normal") >= 18, nearest


def test_both_themes_name_the_same_tokens():
    assert tokens()["light"].keys() == tokens()["dark"].keys()


def test_css_switches_where_the_site_and_jupyterlab_say_so():
    text = css()
    for selector in ('html[data-theme="dark"]', '[data-jp-theme-light="false"]', '[data-jp-theme-light="true"]'):
        assert selector in text
    assert text.count(f"--bim-rank-0: {colour('rank-0', 'dark')}") == 2  # the system's choice, and the page's
    assert "--bim-step: 450ms" in text


def test_spaces_are_steps_of_four():
    steps = [value for name, value in tokens()["space"].items() if name.startswith("space-")]
    assert all(int(value.removesuffix("px")) % 4 == 0 for value in steps)


def test_plotly_speaks_the_same_colours():
    layout = plotly_template("dark")["layout"]
    assert layout["colorway"] == [series_colour(r, "dark") for r in range(8)]
    assert layout["font"]["color"] == colour("ink", "dark")


@pytest.mark.parametrize(("name", "theme", "told"), [("rank-9", "light", "rank-9"), ("ink", "sepia", "sepia")])
def test_unknown_tokens_are_named(name, theme, told):
    with pytest.raises(KeyError, match=told):
        colour(name, theme)
