"""Nodes, a second algorithm and recorded runs in the player, from Python and from the page's directive."""

import json
from dataclasses import dataclass, field
from html import unescape

import pytest

from helpers.collectives import CATALOGUE, Nodes, Schedule, check, price
from helpers.facts import LINKS
from helpers.units import seconds_text
from helpers.view import player
from helpers.view.player import page
from helpers.view.player.recorded import compact
from helpers.view.player.spec import built, last_step, network, prices, schedules, stops
from helpers.view.player.widget import player_html, player_sentence, player_spec, resolve
from helpers.view.shared.schedules.traces import as_data

RING = CATALOGUE["all_reduce", "ring"](nranks=4)
HIERARCHICAL = CATALOGUE["all_reduce", "hierarchical"]
NODES = {"gpus": 4, "across": "infiniband-ndr"}


def traced(schedule: Schedule = RING, nbytes: int = 4096, seconds: float = 1e-3) -> dict:
    """What a traced run holds, with every step a millisecond long."""
    messages = [
        {
            "step": number,
            "src": src,
            "dst": dst,
            "chunks": sorted(t.chunk for t in step if (t.src, t.dst) == (src, dst)),
            "nbytes": 1024,
            "send": [(number - 1) * seconds, number * seconds],
            "recv": [(number - 1) * seconds, number * seconds],
        }
        for number, step in enumerate(schedule.steps, 1)
        for src, dst in dict.fromkeys((t.src, t.dst) for t in step)
    ]
    total = seconds * len(schedule.steps)
    link = {"alpha": 5e-4, "bandwidth": 1e8}
    return {
        "schedule": str(schedule),
        "nbytes": nbytes,
        "dtype": "float32",
        "seconds": total,
        "clock": {"offsets": [0.0] * schedule.nranks, "error": 1e-6},
        "link": link,
        "messages": messages,
    }


@dataclass
class Run:
    """As helpers.ranks' own, without torch."""

    data: dict
    name: str = "made-up"
    label: str = "4 ranks, gloo, CPU"
    machine: dict = field(default_factory=lambda: {"cpu": "A CPU", "cores": 2})
    versions: dict = field(default_factory=lambda: {"torch": "2.13.0"})
    date: str = "2026-01-02"
    command: str = "make notebooks"
    source: str = "replay"


def test_nodes_are_priced_as_nodes_are():
    spec = player_spec(RING, "1 MiB", gpus=2, across="infiniband-ndr", nics=1)
    assert (spec.gpus, spec.across, spec.nics) == (2, "infiniband-ndr", 1)
    nodes = Nodes(2, LINKS["nvlink-4"], LINKS["infiniband-ndr"], 1)
    assert prices(spec) == [price(RING, 2**20, nodes)]
    assert f", {seconds_text(price(RING, 2**20, nodes).seconds)} with LL128 by" in player_sentence(spec)
    said = "4 ranks in nodes of 2, 1 MiB, NVLink 4 (H100), InfiniBand NDR between nodes over 1 NIC each"
    assert said in player_sentence(spec)


@pytest.mark.parametrize("nranks", range(2, 17))
def test_an_algorithm_of_nodes_is_named_for_every_size_of_node(nranks):
    for gpus in (g for g in range(1, nranks + 1) if nranks % g == 0):
        spec = player_spec(resolve("all_reduce hierarchical", nranks, gpus=gpus), gpus=gpus, across="infiniband-ndr")
        assert (spec.algorithm, spec.gpus) == ("hierarchical", gpus)
        assert built(spec) == HIERARCHICAL(nranks, gpus)
        assert built(player_spec(HIERARCHICAL(nranks, gpus))) == HIERARCHICAL(nranks, gpus)


def test_a_network_cut_otherwise_than_its_algorithm_takes_the_schedule_along():
    spec = player_spec(HIERARCHICAL(8, 4), gpus=2, across="infiniband-ndr")
    assert built(spec) == HIERARCHICAL(8, 4) and spec.gpus == 2 and spec.schedule == str(HIERARCHICAL(8, 4))


def test_nvls_is_pipelined_unless_told_otherwise():
    assert player("all_reduce nvls", nranks=8).spec["slices"] == 8
    assert player("all_reduce nvls", nranks=8, nbytes="1 KiB").spec["slices"] == 8, "they all cost the same"
    assert player("all_reduce nvls", nranks=8, nbytes="1 KiB", link="pcie-4").spec["slices"] == 1
    assert player("all_reduce nvls", nranks=8, nbytes="2 MiB", link="pcie-4").spec["slices"] == 6
    assert (
        player("all_reduce ring", nranks=8, nbytes="1 KiB", versus="nvls", link="pcie-4").spec["rival"]["slices"] == 1
    )
    assert player("all_reduce nvls", nranks=8, slices=1).spec["slices"] == 1
    cut = [prices(player_spec(resolve("all_reduce nvls", 8, slices=n), link="pcie-4"))[0].seconds for n in (1, 8)]
    assert cut[1] < 0.9 * cut[0]
    assert " in 8 slices," in player_sentence(player_spec(resolve("all_reduce nvls", 8)))


def test_two_algorithms_stop_the_clock_where_either_ends_a_step():
    spec = player_spec(RING, versus="binomial")
    assert [s.algorithm for s in schedules(spec)] == ["ring", "binomial"]
    ends = stops(prices(spec))
    ring, tree = prices(spec)
    assert ends[0] == 0 and ends[-1] == pytest.approx(max(ring.seconds, tree.seconds))
    assert len(ends) - 1 == last_step(spec) <= len(ring.steps) + len(tree.steps)
    assert player_spec(RING, versus="binomial", step=last_step(spec)).step == last_step(spec)


def test_a_kernel_answers_for_both():
    widget = player("all_reduce ring", nranks=8, versus="hierarchical", **NODES)
    assert Schedule.parse(widget.trace["versus"]["text"]) == HIERARCHICAL(8, 4)
    spec = widget.spec | {"rival": widget.spec["rival"] | {"gpus": 2}}
    widget.spec = spec
    assert widget.trace["versus"] == as_data(HIERARCHICAL(8, 2)) | {"gpus": 2}
    widget.spec = {key: value for key, value in spec.items() if key != "rival"}
    assert "versus" not in widget.trace


@pytest.mark.parametrize(
    "name", sorted({algorithm for collective, algorithm in CATALOGUE if collective == "all_reduce"})
)
def test_every_algorithm_can_stand_beside_the_ring(name):
    if name == "ring":
        return
    for nranks in (2, 7, 16):
        _, rival = schedules(player_spec(CATALOGUE["all_reduce", "ring"](nranks), versus=name))
        check(rival)
        assert rival.algorithm == name


@pytest.mark.parametrize("make", [Run, lambda data: data, lambda data: vars(Run(data))], ids=["run", "data", "dict"])
def test_a_recorded_run_brings_its_size_and_its_link(make):
    spec = player_spec(RING, recorded=make(traced()))
    assert (spec.nbytes, spec.link, spec.recorded["link"]) == (4096, "recorded", traced()["link"])
    assert prices(spec)[0].seconds == pytest.approx(6 * (5e-4 + 1024 / 1e8))
    assert len(spec.recorded["messages"]) == 24
    assert spec.recorded["messages"][0] == [1, 0, 1, 0, 1_000_000, 0, 1_000_000]
    assert network(spec).alpha == 5e-4
    json.dumps(spec.as_json())


def test_where_a_run_comes_from_is_said():
    told = player_sentence(player_spec(RING, recorded=Run(traced())))
    assert told.endswith("; 6 ms recorded 2026-01-02: 4 ranks, gloo, CPU; A CPU, 2 cores; torch 2.13.0")
    assert "measured just now" in player_sentence(player_spec(RING, recorded=Run(traced(), source="live")))


def test_a_run_is_found_by_its_name(tmp_path):
    (tmp_path / "some-run.json").write_text(json.dumps({"data": traced(), "label": "here", "date": "2026-01-02"}))
    found = compact("some-run", RING, folder=tmp_path)
    assert (found["name"], found["label"], found["source"]) == ("some-run", "here", "replay")
    with pytest.raises(ValueError, match="no recorded run 'gone'; there are: some-run"):
        compact("gone", RING, folder=tmp_path)
    with pytest.raises(ValueError, match="no recorded run"):
        compact("../some-run", RING, folder=tmp_path)


def test_the_committed_traces_play():
    spec = player_spec(RING, recorded="trace-late-emulated")
    assert player_html(spec).startswith('<div class="bim-mount" data-kind="player"')


def without(name: str) -> dict:
    return {key: value for key, value in traced().items() if key != name}


def fewer() -> dict:
    return traced() | {"messages": traced()["messages"][1:]}


def twice() -> dict:
    return traced() | {"messages": [*traced()["messages"], traced()["messages"][0]]}


BINOMIAL = CATALOGUE["all_reduce", "binomial"](nranks=4)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: player(RING, gpus=2), "got gpus=2 alone"),
        (lambda: player(RING, across="infiniband-ndr"), "got across='infiniband-ndr' alone"),
        (lambda: player(RING, nics=1), "got nics=1 alone"),
        (lambda: player(RING, gpus=3, across="infiniband-ndr"), "4 ranks do not divide into nodes of gpus=3"),
        (lambda: player(RING, gpus=2, across="string"), "unknown across 'string': expected one of nvlink"),
        (lambda: player(RING, gpus=2, across="infiniband-ndr", nics=3), r"nics must lie in 1..2,.*got 3"),
        (lambda: player("all_reduce nvls", gpus=2, across="infiniband-ndr"), "nvls goes through a switch"),
        (lambda: player("all_reduce hierarchical", gpus=3), "do not divide into nodes of 3"),
        (lambda: player("all_reduce ring", slices=2), "takes no slices, got slices=2"),
        (lambda: player(RING, versus="psychic"), "unknown versus 'psychic': expected one of ring, flat"),
        (lambda: player(RING, gpus=2, across="infiniband-ndr", versus="sharp"), "sharp goes through a switch"),
        (lambda: player("broadcast flat", root=2, versus="binomial"), "from rank 0 only, got root=2"),
        (lambda: player(RING, versus="binomial", step=99), r"step must lie in 0..\d+, got 99"),
        (lambda: player(RING, recorded="no-such-run"), "no recorded run 'no-such-run'; there are: "),
        (lambda: player(RING, recorded=7), "expected a recorded run's name, a Run or its data, got 7"),
        (lambda: player(RING, recorded=without("link")), "lacks link"),
        (lambda: player(RING, recorded=Run([1, 2])), "made-up lacks schedule"),
        (
            lambda: player(BINOMIAL, recorded=traced()),
            "played another schedule: all_reduce ring.*asked for is all_reduce bin",
        ),
        (lambda: player(RING, recorded=fewer()), r"not the schedule's: \(1, 0, 1\)"),
        (lambda: player(RING, recorded=twice()), "a message twice"),
        (lambda: player(RING, recorded=traced(), nbytes="1 KiB"), "is of nbytes=4096, got nbytes=1024"),
        (lambda: player(RING, recorded=traced(), link="pcie-5"), "leave out link='pcie-5'"),
        (lambda: player(RING, recorded=traced(), versus="binomial"), "leave out versus='binomial'"),
        (lambda: player(RING, link="recorded"), "unknown link 'recorded'"),
    ],
)
def test_bad_options_say_what_was_expected(make, told):
    with pytest.raises(ValueError, match=told):
        make()


def directive(argument: str, **options: object) -> dict:
    """The spec that the page's directive mounts."""
    return json.loads(unescape(page.html(argument, options).partition('data-spec="')[2].partition('"')[0]))


def test_the_directive_takes_what_python_takes():
    got = directive("all_reduce hierarchical", nranks=8, nics=2, nbytes="1 GiB", versus="ring", step=2, **NODES)
    assert (
        got == player("all_reduce hierarchical", nranks=8, nics=2, nbytes="1 GiB", versus="ring", step=2, **NODES).spec
    )
    assert directive("all_reduce nvls", nranks=8, slices=2) == player("all_reduce nvls", nranks=8, slices=2).spec
    played = directive("all_reduce ring", recorded="trace-late-emulated")
    assert played == player("all_reduce ring", recorded="trace-late-emulated").spec
    with pytest.raises(ValueError, match="no recorded run 'gone'"):
        directive("all_reduce ring", recorded="gone")
    assert set(page.OPTIONS) == {"nranks", "nchunks", "slices", "root", "gpus", "across", "nics"} | {
        "nbytes",
        "link",
        "versus",
        "recorded",
        "step",
    }
