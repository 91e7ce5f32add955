"""helpers.parallel.annotated on ranks: DTensor under every layout is one process; what it put in, against what hands would write."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest
import torch

from helpers.parallel import MLP, Training, Transformer, difference, train
from helpers.parallel.annotated import LAYOUTS, Layout, NoJaxError, blocks, by_dtensor, by_hand, by_jax, total
from helpers.parallel.counting import counted

TRAINING = Training(steps=2)  # the deep MLP, 4 matrices of 16 x 16, a batch of 8, float64, plain gradient descent
NRANKS = 4


def trained(training: Training) -> dict:
    """Inside a rank: under every layout, in one call."""
    return {name: by_dtensor.train(training, layout) for name, layout in LAYOUTS.items()}


def went_back(training: Training) -> dict:
    """Inside a rank: of one forward and backward how many calls we counted, and torch's CommDebugMode."""
    from torch.distributed.tensor.debug import CommDebugMode

    found = {}
    for name, layout in LAYOUTS.items():
        mesh, params = by_dtensor.set_up(training, layout)
        x, y = (by_dtensor.lies(one, mesh, layout, layout.batch) for one in training.data(0))
        with counted() as moved, CommDebugMode() as theirs, by_dtensor.quiet():
            by_dtensor.forward(training, layout, params, x, y).backward()
        found[name] = moved.ncalls(), theirs.get_total_counts()
    return found


@pytest.fixture(scope="module")
def on_ranks(ranks):
    return ranks.run(trained, TRAINING)


@pytest.fixture(scope="module")
def alone():
    return train(TRAINING)


def moves(got, steps: int = TRAINING.steps) -> dict:
    """Of one step what was counted, as `by_hand` has it."""
    return {op: (Fraction(n, steps), got.moved.sent(op) / steps) for op, n in got.moved.by_op().items()}


@pytest.mark.parametrize("name", LAYOUTS)
def test_annotations_change_no_number(on_ranks, alone, name):
    for rank in range(NRANKS):
        assert difference(on_ranks[rank][name], alone) < TRAINING.tolerance, f"rank {rank}"


AS_BY_HAND = ["batch cut", "pairs, outputs said", "the same, gathered"]


@pytest.mark.parametrize("name", AS_BY_HAND)
def test_dtensor_moves_what_hands_would(on_ranks, name):
    """To the call and to the byte, on every rank."""
    want = by_hand(TRAINING, LAYOUTS[name], NRANKS)
    for rank in range(NRANKS):
        assert moves(on_ranks[rank][name]) == want, f"rank {rank}"


def test_outputs_of_which_nobody_says_anything_are_summed_again(on_ranks):
    """A sum over ranks stays open until somebody reads it, and each of the two pairs has a reader more."""
    pairs = TRAINING.model.depth // 2
    n = TRAINING.batch * TRAINING.model.width * TRAINING.itemsize
    each = Fraction(2 * (NRANKS - 1), NRANKS) * n
    least = 2 * pairs - 1  # a sum ends each pair forward, and each but the first backward
    assert by_hand(TRAINING, LAYOUTS["pairs"], NRANKS) == {"all_reduce": (least, least * each)}
    for rank in range(NRANKS):
        assert moves(on_ranks[rank]["pairs"]) == {"all_reduce": (least + pairs, (least + pairs) * each)}


def test_on_a_mesh_one_sum_goes_in_two_halves(on_ranks):
    """As many bytes in all: an all_reduce among tensor ranks is a reduce_scatter and an all_gather here."""
    layout = LAYOUTS["pairs on a mesh"]
    ndata, ntensor = layout.sizes(NRANKS)
    n = TRAINING.batch // ndata * TRAINING.model.width * TRAINING.itemsize
    half = Fraction(ntensor - 1, ntensor) * n
    calls, sent = by_hand(TRAINING, layout, NRANKS)["all_reduce"]
    want = {"all_reduce": (calls - 1, sent - 2 * half), "reduce_scatter": (1, half), "all_gather": (1, half)}
    for rank in range(NRANKS):
        assert moves(on_ranks[rank][layout.name]) == want, f"rank {rank}"


def test_torch_counts_as_many_calls(ranks):
    for found in ranks.run(went_back, TRAINING):
        assert {name: ours for name, (ours, _) in found.items()} == {
            name: theirs for name, (_, theirs) in found.items()
        }


def in_blocks() -> dict:
    """Inside a rank: of two, three and four pairs what moves, and the loss."""
    return {(said, n): blocks.pairs(n, said) for said in blocks.SAYS for n in (2, 3, 4)}


@pytest.fixture(scope="module")
def residual(ranks):
    return ranks.run(in_blocks)


@pytest.mark.parametrize(
    ("said", "of_a_pair"),
    [
        ("matrices", {"all_reduce": 7, "all_gather": 2}),
        ("outputs", {"all_reduce": 1, "all_gather": 2, "reduce_scatter": 1}),
        ("both", {"all_reduce": 2}),
    ],
)
def test_in_a_residual_block_a_pair_costs_what_nobody_says(residual, said, of_a_pair):
    """As many calls and bytes for the third pair as for the fourth, on every rank, and the loss of one process."""
    for found in residual:
        two, three, four = (found[said, n][0] for n in (2, 3, 4))
        for op in ("all_reduce", "all_gather", "reduce_scatter"):
            assert three.ncalls(op) - two.ncalls(op) == four.ncalls(op) - three.ncalls(op) == of_a_pair.get(op, 0), op
        assert three.sent() - two.sent() == four.sent() - three.sent()
        assert all(found[said, n][1] == pytest.approx(blocks.alone(n), rel=1e-10) for n in (2, 3, 4))


def test_with_both_ends_said_a_pair_sums_its_activations_twice(residual):
    """As Megatron's pairs do; with nothing said it is more than five times that."""
    half = Fraction(NRANKS - 1, NRANKS) * blocks.nbytes()
    for found in residual:
        moved = {said: found[said, 4][0].sent() - found[said, 3][0].sent() for said in blocks.SAYS}
        assert moved["both"] == 4 * half and moved["matrices"] > 5 * moved["both"] and moved["outputs"] > moved["both"]


def test_blocks_of_which_something_else_is_said_are_refused():
    with pytest.raises(ValueError, match="said of one of matrices, outputs, both, got 'inputs'"):
        blocks.pairs(1, "inputs")


def test_the_steps_change_every_parameter_by_more_than_the_tolerance(alone):
    """Else equality would prove nothing."""
    for name, p in TRAINING.params().items():
        assert (alone.params[name] - p).abs().max() > 1e6 * TRAINING.tolerance


def test_a_layout_in_which_no_axis_of_the_mesh_is_of_a_spec_is_refused():
    with pytest.raises(ValueError, match="mine: an axis of the mesh is one of data, tensor, got 'pipeline'"):
        Layout("mine", ("data", "tensor"), ("data", ""), (("pipeline", ""),))


def test_what_cannot_be_cut_is_refused_before_anything_is_launched():
    for layout, training, said in (
        (LAYOUTS["batch cut"], TRAINING.but(batch=10), "4 data ranks do not divide size 10"),
        (LAYOUTS["pairs"], Training(MLP(2, 18)), "4 tensor ranks do not divide size 18"),
        (LAYOUTS["pairs on a mesh"], Training(MLP(2, 15)), "2 tensor ranks do not divide size 15"),
        (LAYOUTS["pairs"], Training(Transformer()), "layouts are of the deep MLP, got Transformer"),
    ):
        with pytest.raises(ValueError, match=said):
            by_hand(training, layout, NRANKS)
        with pytest.raises(ValueError, match=said):
            by_jax.run(training, [layout], NRANKS)
    with pytest.raises(ValueError, match="2 data ranks do not divide ranks 3"):
        by_hand(TRAINING, LAYOUTS["pairs on a mesh"], 3)


def test_shares_and_placements_of_a_spec():
    from torch.distributed.tensor import Replicate, Shard

    mesh = LAYOUTS["pairs on a mesh"]
    assert mesh.sizes(8) == (2, 4) and mesh.share((16, 16), ("data", "tensor"), 8) == 16 // 2 * 16 // 4
    assert by_dtensor.placements(mesh, ("data", "tensor")) == [Shard(0), Shard(1)]
    assert by_dtensor.placements(mesh, ("", "data")) == [Shard(1), Replicate()]
    assert [mesh.weight(i) for i in range(3)] == [("tensor", ""), ("", "tensor"), ("tensor", "")]


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"optimizer": "adamw"}, "with sgd, got torch.float64 and 'adamw'"), ({"dtype": torch.float32}, "torch.float32")],
)
def test_jax_is_asked_for_plain_descent_in_float64_only(changes, said):
    with pytest.raises(ValueError, match=said):
        by_jax.run(TRAINING.but(**changes), [LAYOUTS["pairs"]])


def test_without_jax_one_line_says_how_to_install_it(monkeypatch, root):
    """`None` there is how Python notes what cannot be imported."""
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setattr(by_jax.subprocess, "run", lambda *_, **__: pytest.fail("a process was started"))
    assert not by_jax.installed()
    with pytest.raises(NoJaxError, match=r"^JAX is not installed; .*pip install -r (requirements-jax\.txt)$") as error:
        by_jax.run(TRAINING, [LAYOUTS["pairs"]], NRANKS)
    named = str(error.value).split()[-1]
    assert "jax==" in (root / named).read_text()


@pytest.fixture
def played_jax(tmp_path, monkeypatch):
    """played_jax(source): what the process of its own imports as jax."""

    def play(source: str) -> None:
        for name, text in (("jax", source), ("jaxlib", "")):
            (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return play


def test_a_jax_that_fails_says_why(played_jax):
    played_jax("raise ImportError('libxla is of another machine')")
    with pytest.raises(NoJaxError, match=r"(?s)ended with 1: .*libxla is of another machine"):
        by_jax.run(TRAINING, [LAYOUTS["pairs"]], NRANKS)
    assert "jax" not in sys.modules


def test_a_jax_that_hangs_is_ended(played_jax, monkeypatch):
    played_jax("import threading; threading.Event().wait()")
    monkeypatch.setattr(by_jax, "DEADLINE", 0.5)
    with pytest.raises(NoJaxError, match=r"did not end within 0\.5 s"):
        by_jax.run(TRAINING, [LAYOUTS["pairs"]], NRANKS)


def test_by_hand_is_the_formulas_and_the_loss():
    """A batch that is cut moves the gradients twice, gathered matrices three times with recomputation, and the loss."""
    n, p, loss = TRAINING.model.nparams * 8, NRANKS, Fraction(2 * (NRANKS - 1), NRANKS) * 8
    once = Fraction(n * (p - 1), p)
    want = {"batch cut": 2 * once, "the same, gathered": 2 * once, "gathered, computed again": 3 * once}
    assert {name: total(by_hand(TRAINING, LAYOUTS[name], p)) for name in want} == {k: v + loss for k, v in want.items()}
