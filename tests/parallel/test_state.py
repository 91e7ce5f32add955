"""Saving and resuming sharded state: equal to an uninterrupted run on other ranks and other ways; every byte counted; nothing half."""

from __future__ import annotations

import itertools
import math
import warnings
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from hypothesis import given
from hypothesis import strategies as st
from lanes import some

from helpers.parallel import MLP, Training, Transformer, state, train
from helpers.parallel.state.checked import described
from helpers.parallel.state.paper import shared_out
from helpers.parallel.state.pieces import boxes
from helpers.parallel.state.planners import nbytes
from helpers.ranks import Ranks

TRAINING = Training(MLP(3, 10), batch=12, optimizer="adamw")  # neither three nor four ranks divide its ten rows evenly
UNEVEN = Transformer(layers=1, width=10, heads=2, kv_heads=1, ffn=7, vocab=10, seq=3)
STOP = 3


@pytest.fixture(scope="module")
def want() -> dict:
    """One process, never interrupted: its losses, parameters, and AdamW's numbers after STOP steps."""
    optimizer, params = None, TRAINING.params()
    optimizer = TRAINING.make_optimizer(params.values())
    for step in range(STOP):
        x, y = TRAINING.data(step)
        TRAINING.model.loss(TRAINING.model.forward(params, x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    moments = {
        f"optimizer.layers.{name}.{key}": value
        for name, p in params.items()
        for key, value in optimizer.state[p].items()
    }
    model = {f"model.layers.{name}": p.detach() for name, p in params.items()}
    return {"trained": train(TRAINING), "saved": model | moments}


@pytest.fixture(scope="module")
def others():
    """Fewer ranks, to resume on; nothing divides by their number what four had."""
    with Ranks(3, backend="gloo", timeout=120) as ranks:
        yield ranks


def whole(folder: Path) -> dict[str, torch.Tensor]:
    """All tensors of a checkpoint, read in one process by torch alone."""
    found = {
        name: torch.empty(one.size, dtype=one.properties.dtype)
        for name, one in described(folder).state_dict_metadata.items()
    }
    with warnings.catch_warnings(action="ignore"):  # that it is one process
        dcp.load(found, checkpoint_id=folder, no_dist=True)
    return found


def far(got, want) -> float:
    """The largest distance of the resumed losses and of the parameters."""
    pairs = itertools.chain(
        zip(got.losses, want.losses[STOP:], strict=True),
        ((got.params[name], p) for name, p in want.params.items()),
    )
    return max(float(torch.as_tensor(a - b).abs().max()) for a, b in pairs)


EVERY = [*((way, None) for way in state.WAYS), ("zero-3", 2), ("fsdp2", 2)]  # with the ranks of a team, None: all


def every_way(training: Training, root: Path, stop: int, ways: list = EVERY) -> list[tuple[Path, list[float]]]:
    return [state.begun(way, training, root / f"{way}-{team}", stop, team) for way, team in ways]


@pytest.fixture(scope="module")
def saved(ranks, tmp_path_factory) -> dict[str, Path]:
    """A checkpoint of four ranks for every way, and its losses."""
    root = tmp_path_factory.mktemp("saved")
    return {
        str(folder.parent.name): (folder, losses) for folder, losses in ranks.run(every_way, TRAINING, root, STOP)[0]
    }


def all_resumed(training: Training, folder: Path, ways: list[str]) -> list:
    return [state.resumed(way, training, folder) for way in ways]


FROM_TO = [(a, b) for a in (*(f"{way}-None" for way in state.WAYS), "zero-3-2", "fsdp2-2") for b in state.WAYS]
KEPT = [
    ("zero-3-None", "ddp"),
    ("fsdp2-None", "zero-3"),
    ("ddp-None", "fsdp2"),
    ("zero-1-None", "zero-2"),
    ("fsdp2-2", "zero-1"),
]


@pytest.mark.parametrize("pair", some(FROM_TO, KEPT, "from each way to share out to each other"))
def test_three_ranks_go_on_from_four_as_if_nobody_had_stopped(others, saved, want, pair):
    was, way = pair
    folder, losses = saved[was]
    assert max(abs(a - b) for a, b in zip(losses, want["trained"].losses[:STOP], strict=True)) < 1e-10
    for got in others.run(state.resumed, way, TRAINING, folder):
        assert far(got, want["trained"]) < 1e-10


@pytest.mark.matrix("resumed on other numbers of ranks")
@pytest.mark.parametrize("nranks", [1, 2, 4])
def test_and_so_do_one_and_two(saved, want, nranks):
    with Ranks(nranks, backend="gloo", timeout=120) as few:
        for got in itertools.chain(*few.run(all_resumed, TRAINING, saved["fsdp2-None"][0], ["fsdp2", "zero-2"])):
            assert far(got, want["trained"]) < 1e-10


def test_what_is_saved_is_one_process_states_whoever_saved_them(saved, want):
    """Parameters, both moments, and AdamW's count of steps, read by torch alone; every tensor by its own name and shape."""
    for folder, _ in saved.values():
        got = whole(folder)
        assert got.pop("progress.step") == STOP and got.keys() == want["saved"].keys()
        assert all((got[name] - one).abs().max() < 1e-10 for name, one in want["saved"].items())
        assert all(got[name] == STOP for name in got if name.endswith(".step"))


AGAIN = ("ddp", "fsdp2", "zero-1")


def saved_again(training: Training, folder: Path, root: Path) -> None:
    for way in AGAIN:
        one = state.job(way, training)
        named = one.state()
        state.load(named, folder)
        one.take(named)
        state.save(one.state(), root / way, STOP)


def test_loaded_and_saved_again_it_is_the_same_to_the_bit(others, saved, tmp_path):
    others.run(saved_again, TRAINING, saved["zero-2-None"][0], tmp_path)
    first = whole(saved["zero-2-None"][0])
    for way in AGAIN:
        again = whole(state.latest(tmp_path / way))
        assert again.keys() == first.keys() and all(torch.equal(again[name], one) for name, one in first.items()), way


def test_each_rank_writes_what_it_is_said_to_and_nobody_writes_it_again(saved):
    """To the byte; together one copy of parameters and moments, a step count for each tensor, and the training's own."""
    once = 3 * TRAINING.model.nparams * 8 + 4 * len(TRAINING.model.shapes) + 8
    for name, (folder, _) in saved.items():
        way, _, team = name.rpartition("-")
        found = state.written(folder)
        paper = state.predicted(way, TRAINING, 4, None if team == "None" else int(team))
        assert [found[rank].payload for rank in range(4)] == paper and sum(paper) == once, name


CUT = [("ddp", None), ("zero-3", None), ("fsdp2", 2)]


@pytest.mark.parametrize("model", some([UNEVEN, MLP(5, 3)], [UNEVEN], "saved by more models"))
def test_the_same_on_models_that_nothing_divides(ranks, tmp_path, model):
    training = Training(model, batch=12, optimizer="adamw", dtype=torch.float32)
    for (way, team), (folder, _) in zip(CUT, ranks.run(every_way, training, tmp_path, 1, CUT)[0], strict=True):
        found = state.written(folder)
        assert [found[rank].payload for rank in range(4)] == state.predicted(way, training, 4, team)


def test_what_a_file_has_besides_is_a_kilobyte_or_two_for_each_piece(saved):
    for folder, _ in saved.values():
        for one in state.written(folder).values():
            assert one.payload < one.on_disk <= one.payload + 2048 * one.parts


@given(shape=st.lists(st.integers(1, 5), max_size=4), data=st.data())
def test_boxes_are_the_run_they_stand_for(shape, data):
    """Each element once, in the flat order; never more boxes than 2n - 1."""
    numel = math.prod(shape)
    start = data.draw(st.integers(0, numel))
    stop = data.draw(st.integers(start, numel))
    flat = torch.arange(numel).reshape(shape)
    found = boxes(shape, start, stop)
    cut = [flat[tuple(slice(a, a + n) for a, n in zip(*box, strict=True))].flatten() for box in found]
    assert torch.cat([torch.empty(0, dtype=torch.int64), *cut]).tolist() == list(range(start, stop))
    assert len(found) <= max(1, 2 * len(shape) - 1)


def test_a_copy_that_several_have_goes_to_the_one_with_least():
    same = {("a", ()): 100, ("b", ()): 40, ("c", ()): 30, ("d", ()): 40}
    assert shared_out([same, same], {}) == [100, 110]
    cut = [{("a", (0,)): 10, ("b", ()): 4}, {("a", (5,)): 3, ("b", ()): 4}]
    assert shared_out(cut, {"a": 13}) == [10, 7]


def behind(training: Training, root: Path, way: str) -> tuple[int, int, list[float], Path]:
    """Save in a thread while three more steps change everything."""
    one, group = state.job(way, training), dist.new_group(backend="gloo")
    state.losses(one, training, STOP)
    named = one.state()
    saving = state.async_save(named, root / way, STOP, group)
    after = state.losses(one, training, training.steps)
    return saving.staged, nbytes(named), after, saving.wait()


@pytest.mark.parametrize("way", some(["zero-3", "fsdp2", "ddp"], ["zero-3", "fsdp2"], "saved in the background"))
def test_what_a_thread_saves_is_the_state_of_the_call_at_the_price_of_a_copy(ranks, want, tmp_path, way):
    found = ranks.run(behind, TRAINING, tmp_path, way)
    for staged, mine, after, _ in found:
        assert max(abs(a - b) for a, b in zip(after, want["trained"].losses[STOP:], strict=True)) < 1e-10
        assert mine <= staged < mine + 3 * 4 * 10 * 8, "its own part once, and the filling of its last rows"
    folder = found[0][3]
    got = whole(folder)
    assert all((got[name] - one).abs().max() < 1e-10 for name, one in want["saved"].items())
    assert [one.payload for one in state.written(folder).values()] == state.predicted(way, TRAINING, 4)
