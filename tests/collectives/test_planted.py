"""A new algorithm is one function with its decorator: what that alone brings, shown on one that is planted here."""

import importlib.util
from functools import partial
from types import SimpleNamespace

import pytest
import test_catalogue

from helpers.collectives import CATALOGUE, about, algorithm, price
from helpers.collectives.about import collected
from helpers.collectives.algorithms import FAMILIES, ring
from helpers.collectives.forms import P
from helpers.view.player.spec import player_spec
from helpers.view.shared.schedules import traces
from helpers.view.shared.schedules.named import resolve
from website.algorithms import AlgorithmsDirective

KEY = ("all_gather", "left-ring")
MODULE = '''
from helpers.collectives import Schedule, Transfer, algorithm
from helpers.collectives.forms import P

@algorithm("all_gather", "left-ring", steps={steps}, moves={moves}, used_by="nobody but this test", chapter="ring")
def all_gather(nranks: int) -> Schedule:
    """Every chunk travels once round the ring, to the left."""
    steps = [[Transfer(r, (r - 1) % nranks, (r + t) % nranks) for r in range(nranks)] for t in range(nranks - 1)]
    return Schedule("all_gather", "left-ring", nranks, nranks, steps)
'''


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """plant(steps, moves): writes the module, and puts what it brings where the catalogue's own stand."""

    def planted(steps="P - 1", moves="(P - 1) / P"):
        path = tmp_path / "left.py"
        path.write_text(MODULE.format(steps=steps, moves=moves))
        spec = importlib.util.spec_from_file_location("left", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        monkeypatch.setitem(CATALOGUE, KEY, collected([*FAMILIES, module])[KEY])
        return module

    traces.catalogue.cache_clear()
    yield planted
    traces.catalogue.cache_clear()


def test_it_is_proved_counted_and_priced(plant, link):
    """The very tests that hold the catalogue, and a price: the mirrored ring costs what the ring does."""
    plant()
    test_catalogue.test_promise_steps_and_bytes_at_every_p(KEY, range(1, 18))
    test_catalogue.test_a_profile_is_priced_as_the_schedule_is(KEY)
    assert price(CATALOGUE[KEY](8), 2**20, link) == price(ring.all_gather(8), 2**20, link)


@pytest.mark.parametrize("lie", [{"steps": "P"}, {"moves": "1"}])
def test_what_it_says_wrongly_is_found(plant, lie):
    plant(**lie)
    with pytest.raises(AssertionError):
        test_catalogue.test_promise_steps_and_bytes_at_every_p(KEY, range(1, 18))


def test_the_page_has_its_row(plant):
    plant()
    page = SimpleNamespace(arguments=["all_gather"], options={}, env=SimpleNamespace(found_docs=()))
    page._row, page._chapter = partial(AlgorithmsDirective._row, page), partial(AlgorithmsDirective._chapter, page)
    (table,) = AlgorithmsDirective.run(page)
    rows = [row.astext().split("\n\n") for row in table.findall(lambda node: node.tagname == "row")]
    cells = ["left-ring", "chapter to come", "P-1", "(P-1)/P", "7 steps", "0.875 N", about(CATALOGUE[KEY]).bottleneck]
    assert [*cells, "nobody but this test"] in rows


def test_the_players_get_its_schedules(plant):
    plant()
    (entry,) = [e for e in traces.catalogue() if (e["collective"], e["algorithm"]) == KEY]
    got = traces.traces(*KEY)
    assert [got[f"{n}"]["text"] for n in entry["nranks"]] == [str(CATALOGUE[KEY](n)) for n in entry["nranks"]]
    assert player_spec(resolve(KEY, 8)).algorithm == "left-ring"


def test_nothing_goes_into_the_catalogue_that_cannot_stay(plant):
    planted = plant()
    with pytest.raises(ValueError, match=r"left\.all_gather and left\.all_gather are both all_gather left-ring"):
        collected([planted, planted])
    planted.all_gather.about = about(
        algorithm("gather_all", "x", steps=1, moves=1, used_by="-", chapter="ring")(planted.all_gather)
    )
    with pytest.raises(ValueError, match="does 'gather_all': expected one of all_reduce, reduce_scatter, "):
        collected([planted])
    with pytest.raises(ValueError, match="is no builder of the catalogue"):
        about(lambda nranks: None)


def test_a_decorator_refuses_what_it_cannot_tell():
    def silent(nranks): ...

    def pipelined(nranks, nchunks=2):
        """Chunk by chunk."""

    known = partial(algorithm, "broadcast", "mine", steps=P, moves=1, used_by="nobody", chapter="ring")
    with pytest.raises(ValueError, match="silent has no docstring"):
        known()(silent)
    with pytest.raises(ValueError, match="pipelined takes nchunks: @algorithm needs loads="):
        known()(pipelined)
    assert known(loads=lambda nranks, nchunks=2: [(nranks, 1, 1)])(pipelined).profile(4, nchunks=3) == ((4, 1, 1),)
