"""The player from Python: what it accepts, what it saves, and how a kernel answers."""

import json
import re
from html.parser import HTMLParser

import pytest
import traitlets

from helpers.collectives import CATALOGUE, Schedule, ScheduleError, Transfer, check
from helpers.facts import LINKS
from helpers.view import Player, player
from helpers.view.player.spec import entry_of
from helpers.view.player.widget import PlayerSpec, player_html, player_sentence, player_spec, resolve
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.schedules.traces import as_data, build, catalogue, links, offered, traces, usual

RING = CATALOGUE["all_reduce", "ring"](nranks=4)
BROKEN = Schedule("all_reduce", "mine", 4, 4, RING.steps[:-1])


class Seen(HTMLParser):
    """Tags, attributes and text of a piece of HTML."""

    def __init__(self, html: str):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_a_trace_is_text_and_promise():
    got = as_data(CATALOGUE["reduce_scatter", "ring"](nranks=3))
    assert Schedule.parse(got["text"]) == CATALOGUE["reduce_scatter", "ring"](nranks=3)
    assert got["before"] == [[1, 1, 1], [2, 2, 2], [4, 4, 4]]
    assert got["after"] == [[7, -1, -1], [-1, 7, -1], [-1, -1, 7]]
    assert got["factor"] == pytest.approx(2 / 3)


def test_a_schedule_without_a_collective_has_no_trace():
    with pytest.raises(ScheduleError, match="named"):
        as_data(RING + RING)


def test_the_page_gets_every_trace_that_the_catalogue_offers():
    for entry in catalogue():
        got = traces(entry["collective"], entry["algorithm"])
        kinds = [name for name in ("nchunks", "slices", "gpus") if entry[name]]
        values = [v for p in entry["nranks"] for v in ([(p, n) for n in offered(entry, p)[1]] if kinds else [(p,)])]
        assert got.keys() == {".".join(map(str, value)) for value in values}
        assert len(kinds) <= 1, "one option at most tells schedules on equally many ranks apart"
    assert {(e["collective"], e["algorithm"]) for e in catalogue()} == set(CATALOGUE)


def test_nodes_and_slices_are_offered_where_they_fit():
    assert offered(entry_of("all_reduce", "hierarchical"), 12) == ("gpus", [1, 2, 3, 4, 6, 12])
    assert offered(entry_of("all_reduce", "nvls"), 8) == ("slices", [1, 2, 4, 6, 8])
    assert offered(entry_of("all_reduce", "nvls"), 16) == ("slices", [1, 2, 4])
    for nranks in range(2, 17):
        ours = usual(entry_of("all_reduce", "hierarchical"), nranks)
        assert build("all_reduce", "hierarchical", nranks, **ours) == build("all_reduce", "hierarchical", nranks)


def test_everything_the_page_gets_keeps_its_promise():
    for entry in catalogue():
        for got in traces(entry["collective"], entry["algorithm"]).values():
            check(Schedule.parse(got["text"]))


def test_links_are_the_facts_own():
    assert {entry["slug"]: entry["bandwidth"] for entry in links()} == {s: k.bandwidth.value for s, k in LINKS.items()}


@pytest.mark.parametrize(
    "what", [RING, "all_reduce ring", ("all_reduce", "ring"), str(RING)], ids=["schedule", "key", "pair", "text"]
)
def test_a_player_takes_a_schedule_in_every_form(what):
    assert player(what, nranks=4).schedule == RING


def test_the_spec_is_the_whole_state():
    assert player_spec(RING, "1 MiB", "pcie-5", 3).as_json() == {
        "collective": "all_reduce",
        "algorithm": "ring",
        "nranks": 4,
        "nchunks": None,
        "root": None,
        "nbytes": 2**20,
        "link": "pcie-5",
        "step": 3,
    }


@pytest.mark.parametrize(
    "schedule", [BROKEN, build("broadcast", "binomial", 4, root=2), build("broadcast", "ring", 4, nchunks=5)], ids=str
)
def test_what_the_page_cannot_look_up_travels_in_full(schedule):
    spec = json.loads(json.dumps(player_spec(schedule).as_json()))
    assert Schedule.parse(spec["schedule"]) == schedule
    assert as_data(schedule) == {
        "text": spec["schedule"],
        **{k: spec[k] for k in ("before", "after", "factor", "promise")},
    }


@pytest.mark.parametrize(
    "spec",
    [
        player_spec(RING, "1 MiB", "pcie-5", 3),
        player_spec(BROKEN, versus="ring"),
        player_spec(RING, gpus=2, across="infiniband-ndr", nics=1, versus="hierarchical"),
        player_spec(RING, recorded="trace-late-emulated"),
    ],
    ids=["by name", "by text", "nodes", "recorded"],
)
def test_a_spec_comes_back_from_the_page_as_it_went(spec):
    told = json.loads(json.dumps(spec.as_json()))
    assert PlayerSpec.read(told | {"beside": "it"}) == spec
    with pytest.raises(AttributeError):
        spec.step = 1


def test_a_pipelined_broadcast_names_its_chunks():
    assert player_spec(build("broadcast", "ring", 4, nchunks=8)).nchunks == 8
    assert " in 8 chunks" in player_sentence(player_spec(build("broadcast", "ring", 4, nchunks=8)))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: player("all_reduce butterfly"),
            "unknown schedule 'all_reduce' by 'butterfly': expected one of all_reduce ring",
        ),
        (lambda: player("all_reduce"), "expected a Schedule"),
        (lambda: player(7), "got 7"),
        (lambda: player("all_reduce ring", root=1), "takes no root, got root=1"),
        (lambda: player("broadcast flat", nchunks=4), "takes no nchunks, got nchunks=4"),
        (lambda: player("all_reduce ring", nranks=17), "draws 2 to 16 ranks, got nranks=17"),
        (lambda: player("all_reduce ring", nranks=1), "draws 2 to 16 ranks, got nranks=1"),
        (lambda: player("all_reduce ring", nranks="4"), "nranks must be a whole number"),
        (lambda: player("all_reduce ring", nbytes="64 MBit"), "a size looks like"),
        (lambda: player("all_reduce ring", link="string"), "unknown link 'string': expected one of nvlink"),
        (lambda: player("all_reduce ring", step=7), r"step must lie in 0..6, got 7"),
        (lambda: player("all_reduce ring", step=True), r"step must lie in 0..6, got True"),
        (lambda: player(RING + RING), "named"),
    ],
)
def test_bad_input_says_what_was_expected(make, told):
    with pytest.raises(ValueError, match=told):
        make()


def test_a_saved_player_is_data_and_a_table():
    html = player("all_reduce ring", nranks=3).html()
    seen = Seen(html)
    tag, attributes = seen.tags[0]
    assert (tag, attributes["class"], attributes["data-kind"]) == ("div", "bim-mount", "player")
    assert json.loads(attributes["data-spec"]) == player_spec(CATALOGUE["all_reduce", "ring"](nranks=3)).as_json()
    assert {tag for tag, _ in seen.tags} <= {"div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert "all_reduce by ring on 3 ranks, 64 MiB" in seen.text
    assert sum(tag == "tr" for tag, _ in seen.tags) == 1 + 4


def test_a_saved_player_is_the_same_every_time():
    first, second = player("all_gather ring", nranks=5), player("all_gather ring", nranks=5)
    assert first.html() == second.html()
    assert repr(first) == repr(second)
    assert not re.search(r"0x[0-9a-f]{4,}|<script", first.html() + repr(first))


def test_the_mimebundle_has_widget_page_and_text():
    widget = player("all_reduce ring")
    data, _ = widget._repr_mimebundle_()
    assert data["text/html"] == widget.html()
    assert data["text/plain"] == repr(widget).strip()
    assert "application/vnd.jupyter.widget-view+json" in data


def test_the_saved_output_is_what_the_cell_asked_for():
    widget = player("all_reduce ring", nranks=4)
    before = widget.html()
    widget.spec = player_spec(CATALOGUE["all_reduce", "ring"](nranks=8)).as_json()
    widget.step = 5
    assert widget.html() == before


def test_a_kernel_answers_every_choice_with_its_trace():
    widget = player("all_reduce ring", nranks=4)
    for entry in catalogue():
        name, values = offered(entry, 6)
        cut = {name: values[-1]} if name else {}
        key, root = (entry["collective"], entry["algorithm"]), 3 if entry["rooted"] else None
        spec = {"collective": key[0], "algorithm": key[1], "nranks": 6, "nchunks": None, "root": root, **cut}
        widget.spec = {"nbytes": 1, "link": "nvlink-4", "step": 0, **spec}
        own = cut if name == "gpus" else {}
        assert widget.trace == as_data(build(*key, 6, root, **cut)) | own
        assert widget.schedule.nranks == 6


@pytest.mark.parametrize(
    "spec", [{"collective": "all_reduce", "algorithm": "psychic", "nranks": 4}, {"collective": "all_reduce"}]
)
def test_a_kernel_answers_nonsense_with_a_reason(spec):
    widget = player("all_reduce ring")
    widget.spec = spec
    assert set(widget.trace) == {"error"}


def test_the_step_can_be_set_and_stays_inside():
    widget = player("all_reduce ring", nranks=4, step=2)
    widget.step = 6
    with pytest.raises(traitlets.TraitError, match=r"0..6, got 7"):
        widget.step = 7
    assert widget.step == 6


def test_a_kernel_gets_module_and_style_as_text():
    widget = Player()
    assert "export default" in widget._esm
    assert "--bim-rank-0" in widget._css
    assert ".bim-player" in widget._css
    assert widget.live is True


def test_text_in_a_mount_is_escaped():
    html = mount("player", {"schedule": '"<b>&'}, fallback("a < b", ["<i>"], [["&"]], "c > d"))
    seen = Seen(html)
    assert json.loads(seen.tags[0][1]["data-spec"]) == {"schedule": '"<b>&'}
    assert {"b", "i"}.isdisjoint(tag for tag, _ in seen.tags)


@pytest.mark.parametrize(("kind", "html", "told"), [("movie", "", "movie"), ("chart", "<SCRIPT>", "script")])
def test_a_mount_refuses_what_it_cannot_hold(kind, html, told):
    with pytest.raises(ValueError, match=told):
        mount(kind, {}, html)


def test_a_spec_with_nan_is_no_json():
    with pytest.raises(ValueError, match="JSON"):
        mount("chart", {"x": float("nan")}, "")


def test_a_broken_schedule_has_a_player_too():
    html = player_html(player_spec(resolve(str(BROKEN)), step=5))
    assert "5 steps" in Seen(html).text


def test_a_hand_made_schedule_may_have_a_switch():
    up = tuple(Transfer(r, 3, 0, "reduce") for r in range(3))
    down = tuple(Transfer(3, r, 0) for r in range(3))
    s = Schedule("all_reduce", "in-switch", 3, 1, (up, down), None, 1)
    check(s)
    assert player(s).trace["text"].splitlines()[0].endswith("nswitches=1")


def test_a_player_builds_its_schedule_once(monkeypatch):
    """Checked, priced, told, stepped and saved: one value."""
    built, whole = [], CATALOGUE["all_reduce", "ring"]

    def ring(nranks: int) -> Schedule:
        built.append(nranks)
        return whole(nranks)

    monkeypatch.setitem(CATALOGUE, ("all_reduce", "ring"), ring)
    widget = player("all_reduce ring", nranks=5)
    widget.step = 3
    assert widget.html() and widget.sentence() and widget.schedule == whole(5)
    assert built.count(5) == 1  # the catalogue asks once of two ranks what it goes through
