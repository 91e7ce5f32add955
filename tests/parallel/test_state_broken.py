"""Checkpoints that are missing, interrupted, damaged or of another model are refused whole; and ranks that die while they save."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

from helpers.parallel import MLP, Training, state, train
from helpers.parallel.state import folders, saving
from helpers.parallel.state.checked import described
from helpers.parallel.state.folders import PART, steps
from helpers.parallel.state.pieces import boxes
from helpers.ranks import RankError, Ranks

TRAINING = Training(MLP(3, 10), batch=12, optimizer="adamw")


@pytest.fixture(scope="module")
def others():
    """Fewer ranks than have saved."""
    with Ranks(2, backend="gloo", timeout=120) as ranks:
        yield ranks


def refused(training: Training, folder: Path, way: str = "zero-3") -> tuple[str, bool]:
    """What is said, and whether the state is as it was."""
    one = state.job(way, training)
    named = one.state()
    before = {name: p.clone() for name, p in one.params().items()}
    try:
        state.load(named, folder)
    except ValueError as error:
        same = all(torch.equal(p, before[name]) for name, p in one.params().items())
        return str(error), same and int(one.done) == 0
    return "loaded", False


def told(ranks, training: Training, folder: Path, way: str = "zero-3") -> str:
    found = ranks.run(refused, training, folder, way)
    assert len({said for said, _ in found}) == 1 and all(same for _, same in found), found
    return found[0][0]


@pytest.fixture(scope="module")
def saved(ranks, tmp_path_factory) -> Path:
    """Of four ranks."""
    return ranks.run(state.begun, "fsdp2", TRAINING, tmp_path_factory.mktemp("saved"), 3)[0][0]


@pytest.fixture
def copied(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "step-3"))


def test_what_is_missing_is_said_before_anything_is_loaded(others, copied):
    assert "no whole checkpoint: it has no .metadata" in told(others, TRAINING, copied.parent / "step-9")
    assert "the last whole one there is step-3" in told(others, TRAINING, copied.parent / "step-9")


def test_so_is_what_is_too_short_or_not_to_be_read(others, copied):
    (one,) = copied.glob("__2_0*")
    size = one.stat().st_size
    whole_bytes = one.read_bytes()
    one.write_bytes(whole_bytes[:-100])
    assert f"__2_0.distcp is damaged: {size:,} bytes expected, {size - 100:,} there" in told(others, TRAINING, copied)
    place = next(p for p in described(copied).storage_data.values() if p.relative_path == one.name and p.length > 1000)
    one.write_bytes(whole_bytes[: place.offset] + b"\0" * 200 + whole_bytes[place.offset + 200 :])
    assert re.search(r"step-3 is damaged: rank \d could not read its part", told(others, TRAINING, copied))
    one.unlink()
    assert "bytes expected, none there" in told(others, TRAINING, copied)
    (copied / ".metadata").write_bytes(b"\x80\x04nonsense")
    assert ".metadata is damaged" in told(others, TRAINING, copied)


def test_and_so_is_another_model_optimizer_or_type(others, copied):
    more = told(others, TRAINING.but(model=MLP(4, 10)), copied, "fsdp2")
    assert "of another model or optimizer: model.layers.3.weight is not saved" in more and "and 1 more" in more
    wider = told(others, TRAINING.but(model=MLP(3, 12)), copied)
    assert "model.layers.0.weight has shape (12, 12) here and (10, 10) there" in wider
    assert "optimizer.layers.0.weight.exp_avg is not here" in told(others, TRAINING.but(optimizer="sgd"), copied, "ddp")
    short = told(others, TRAINING.but(dtype=torch.float32), copied)
    assert "model.layers.0.weight is torch.float32 here and torch.float64 there" in short


def test_a_way_that_is_none_and_a_step_that_is_there_are_refused(others, saved):
    root = saved.parent
    with pytest.raises(
        RankError, match=r"step 3 is saved already, in .*step-3: take another folder, or resume from it"
    ):
        others.run(state.begun, "ddp", TRAINING, root, 3)
    with pytest.raises(
        ValueError, match="a way to share out is one of ddp, fsdp2, zero-1, zero-2, zero-3, got 'zero-4'"
    ):
        state.job("zero-4", TRAINING)
    with pytest.raises(ValueError, match=r"a range inside 0..6 of shape \(2, 3\), got 4..7"):
        boxes((2, 3), 4, 7)


def killed(training: Training, root: Path, where: str) -> None:
    """Save, go on, and die in the next save: rank 1 half-way through its file, or rank 0 when all is written but not renamed."""
    one = state.job("zero-3", training)
    state.losses(one, training, 1)
    state.save(one.state(), root, 1)
    state.losses(one, training, 2)
    if where == "writing" and dist.get_rank() == 1:
        torch.save = half
    if where == "renaming" and dist.get_rank() == 0:
        saving.commit = die
    state.save(one.state(), root, 2)


def half(tensor: torch.Tensor, stream) -> None:
    """The first of a rank's tensors is in its file, and no other."""
    torch.serialization.save(tensor, stream)
    stream.flush()
    die()


def die(*_) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_one_folder(training: Training, folder: Path, dies: bool) -> None:
    """What many do: torch's writer, the same folder each time."""
    if dies and dist.get_rank() == 1:
        torch.save = half
    dcp.save(state.job("ddp", training).state(), storage_writer=dcp.FileSystemWriter(folder))


def test_a_rank_that_dies_while_it_saves_leaves_the_last_checkpoint_whole(others, tmp_path):
    """And what it left half done is in nobody's way: the step is saved anew, and counts."""
    for where in ("writing", "renaming"):
        root = tmp_path / where
        with pytest.raises(RankError, match="died: SIGKILL"):
            others.run(killed, TRAINING, root, where)
        assert list(steps(root)) == [1] and (root / f"step-2{PART}").is_dir()
        got = others.run(state.resumed, "zero-3", TRAINING.but(steps=2), state.latest(root))[0]
        assert max((got.params[n] - p).abs().max() for n, p in train(TRAINING.but(steps=2)).params.items()) < 1e-10
        assert others.run(state.begun, "fsdp2", TRAINING, root, 2)[0][0] == root / "step-2"
        assert list(steps(root)) == [1, 2] and not (root / f"step-2{PART}").exists()


def test_checkpoints_are_by_number_and_only_whole_ones_count(tmp_path):
    for name in ("step-10", "step-9", "step-11.part", "step-x", "old-step-12"):
        (tmp_path / name).mkdir()
    assert list(steps(tmp_path)) == [9, 10] and state.latest(tmp_path).name == "step-10"
    assert state.latest(tmp_path / "nowhere") is None


def test_a_save_begins_in_an_empty_folder(tmp_path):
    """A file of a rank that is not there any more would stay in the checkpoint for good."""
    part = tmp_path / f"step-1{PART}"
    part.mkdir()
    (part / "__7_0.distcp").write_text("of an eighth rank")
    folders.begin(part)
    assert list(part.iterdir()) == []


def test_names_are_on_the_disk_before_and_after_a_checkpoint_gets_its_own(tmp_path, monkeypatch):
    part, seen = tmp_path / f"step-1{PART}", []
    part.mkdir()
    monkeypatch.setattr(
        os, "fsync", lambda file: seen.append((Path(f"/proc/self/fd/{file}").readlink(), part.exists()))
    )
    assert folders.commit(part) == tmp_path / "step-1"
    assert seen == [(part, True), (tmp_path, False)]


def unable(training: Training, root: Path, where: str) -> str:
    """What a save says that one rank cannot do its part of."""
    one, before = state.job("zero-3", training), (torch.save, saving.commit)
    group = dist.new_group(backend="gloo")
    try:
        if where in ("writing", "behind") and dist.get_rank() == 1:
            torch.save = full
        if where == "renaming" and dist.get_rank() == 0:
            saving.commit = full
        if where == "behind":
            state.async_save(one.state(), root, 2, group).wait()
        else:
            state.save(one.state(), root, 2)
    except OSError as error:
        return str(error)
    finally:
        torch.save, saving.commit = before
    return "saved"


def full(*_) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("opening", r"(rank 0: )?\[Errno \d+\] .*no-folder"),
        ("writing", r".*step-2\.part is not whole: rank 1 could not write its part: \[Errno 28\] No space"),
        ("behind", r".*step-2\.part is not whole: rank 1 could not write its part: \[Errno 28\] No space"),
        ("renaming", r"(rank 0: )?\[Errno 28\] No space left on device"),
    ],
)
def test_where_one_rank_cannot_all_say_so_and_none_waits(others, saved, tmp_path, where, said):
    root = tmp_path / "no-folder"
    if where == "opening":
        root.write_text("a file")
    else:
        shutil.copytree(saved, root / "step-1")
    for told_here in others.run(unable, TRAINING, root, where):
        assert re.match(said, told_here)
    if where != "opening":
        assert list(steps(root)) == [1]


@pytest.mark.matrix("checkpoints broken in more ways")
def test_why_each_save_has_a_folder_of_its_own(others, tmp_path):
    """Interrupted in the folder of the last checkpoint, a save leaves that one's list beside files of another length."""
    folder = tmp_path / "step-1"
    others.run(in_one_folder, TRAINING, folder, False)
    assert others.run(refused, TRAINING, folder, "ddp")[0][0] == "loaded"
    with pytest.raises(RankError, match="died: SIGKILL"):
        others.run(in_one_folder, TRAINING, folder, True)
    assert "__1_0.distcp is damaged" in told(others, TRAINING, folder, "ddp")
