"""How many slices a switch is given: by price, alike in the page and in Python, so that ring and switch stand as they were measured."""

import random

import pytest

from helpers.collectives import CATALOGUE, price
from helpers.facts import LINKS
from helpers.view.player.spec import player_spec
from helpers.view.shared.schedules.named import built, entry_of, resolve
from helpers.view.shared.schedules.traces import NRANKS, catalogue, links, offered, usual

SLICED = [entry for entry in catalogue() if entry["slices"]]


def test_the_page_and_python_choose_alike(play):
    rng = random.Random(0)
    cases = [
        (i, {"nranks": rng.choice(NRANKS), "nbytes": int(2 ** rng.uniform(0, 36)), "link": rng.choice([*LINKS])})
        for i in [*range(len(SLICED))] * 400
    ]
    ours = [usual(SLICED[i], asked["nranks"], asked["nbytes"], LINKS[asked["link"]])["slices"] for i, asked in cases]
    assert play("slices", {"entries": SLICED, "cases": cases, "links": links()}) == ours
    assert set(ours) == {1, 2, 4, 6, 8}


def test_no_other_offer_up_to_eight_is_cheaper():
    rng = random.Random(1)
    for _ in range(40):
        nranks, nbytes, link = rng.choice(NRANKS), int(2 ** rng.uniform(10, 34)), LINKS[rng.choice([*LINKS])]
        entry = rng.choice(SLICED)
        build = CATALOGUE[entry["collective"], "nvls"]
        prices = {n: price(build(nranks, n), nbytes, link).seconds for n in offered(entry, nranks)[1] if n <= 8}
        assert prices[usual(entry, nranks, nbytes, link)["slices"]] == pytest.approx(min(prices.values()), rel=1e-12)


@pytest.mark.parametrize("nbytes", ["64 MiB", "1 GiB", "16 GiB"])
def test_a_player_shows_the_ring_ahead_on_four_ranks_and_the_switch_from_eight_on(nbytes):
    for nranks in NRANKS:
        spec = player_spec(resolve("all_reduce nvls", nranks, nbytes=nbytes), nbytes)
        ring = CATALOGUE["all_reduce", "ring"](nranks)
        switch, around = (price(s, spec.nbytes, LINKS[spec.link]).seconds for s in (built(spec), ring))
        assert nranks not in (2, 3, 4) or around < switch, nranks
        assert nranks < 8 or switch < around, nranks


def test_as_many_columns_as_the_memory_view_has():
    assert offered(entry_of("all_gather", "nvls"), 4) == ("slices", [1, 2, 4, 6, 8, 16])
    assert offered(entry_of("all_reduce", "nvls"), 10) == ("slices", [1, 2, 4, 6])
    assert offered(entry_of("reduce_scatter", "nvls"), 16) == ("slices", [1, 2, 4])
