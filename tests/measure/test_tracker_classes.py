"""Every byte has the right class, counted by hand on models small enough to write down."""

import weakref
from functools import partial

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from helpers.measure import TrackError, track
from helpers.memory import CLASSES

N, B = 256, 16  # width and rows: a weight has 4 N N bytes, a row of activations 4 B N
WEIGHT, ROWS = 4 * N * N, 4 * B * N


def classes(trace, name):
    """{class: bytes} at the mark `name`, without the zeros."""
    return {cls: n for cls, n in trace.at(name).items() if n}


@pytest.fixture
def batch():
    return torch.rand(B, N)


def linear(layers=1):
    return nn.Sequential(*(nn.Linear(N, N, bias=False) for _ in range(layers)))


def step(model, batch, optimizer=None, forward=None):
    """The trace of a step with a mark at each of its ends; its output stays."""
    with track(model, optimizer, batch) as watch:
        watch.mark("start")
        out = (forward or model)(batch)
        watch.mark("forward")
        out.sum().backward()
        watch.mark("backward")
        if optimizer:
            optimizer.step()
            watch.mark("step")
            optimizer.zero_grad()
            watch.mark("zero_grad")
    return watch.trace


def test_a_linear_layers_step_byte_for_byte(batch):
    model = linear(2)
    trace = step(model, batch, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    assert classes(trace, "start") == {"parameter": 2 * WEIGHT, "input": ROWS}
    assert classes(trace, "forward") == {
        "parameter": 2 * WEIGHT,
        "input": ROWS,
        "activation": ROWS,  # the second layer keeps what the first one made; the first keeps the input itself
        "temporary": ROWS,  # the output
    }
    held = {"parameter": 2 * WEIGHT, "input": ROWS, "temporary": ROWS}
    assert classes(trace, "backward") == held | {"gradient": 2 * WEIGHT}
    assert classes(trace, "step") == held | {"gradient": 2 * WEIGHT, "optimizer": 2 * WEIGHT}
    assert classes(trace, "zero_grad") == held | {"optimizer": 2 * WEIGHT}


def test_the_states_of_adam_are_2p_then_4p_then_3p(batch):
    model = linear(2)
    params, counts = 2 * WEIGHT, 2 * 4  # one step count of 4 bytes a tensor
    trace = step(model, batch, torch.optim.Adam(model.parameters()))
    assert [n - 2 * ROWS for _, _, n in trace.marks[2:]] == [2 * params, 4 * params + counts, 3 * params + counts]


def test_state_is_the_optimizers_as_soon_as_it_is_made(batch):
    """At the peak inside the first step, nothing that Adam keeps is called temporary any more."""
    model = linear(3)
    peak = step(model, batch, torch.optim.Adam(model.parameters(), foreach=True)).peak
    assert (peak.phase, peak.by_class["optimizer"]) == ("step", 2 * 3 * WEIGHT + 3 * 4)
    assert peak.nbytes >= 5 * 3 * WEIGHT, "foreach Adam holds one more copy of the parameters"


def test_state_that_was_there_before_is_known(batch):
    model = linear()
    optimizer = torch.optim.Adam(model.parameters())
    for again in range(2):
        model(batch).sum().backward()
        optimizer.step()
        if not again:
            optimizer.zero_grad()
    with track(model, optimizer, batch) as watch:
        watch.mark("start")
    assert classes(watch.trace, "start") == {
        "parameter": WEIGHT,
        "gradient": WEIGHT,
        "optimizer": 2 * WEIGHT + 4,
        "input": ROWS,
    }
    assert {(e.op, e.module) for e in watch.trace.events if e.cls == "optimizer"} == {
        ("step", "0"),
        ("exp_avg", "0"),
        ("exp_avg_sq", "0"),
    }


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpointed_block_keeps_its_input_and_recomputes_the_rest(batch, reentrant):
    block = nn.Sequential(*(nn.Sequential(nn.Linear(N, N), nn.GELU()) for _ in range(3)))
    inputs = batch.requires_grad_()
    trace = step(block, inputs, forward=lambda x: checkpoint(block, x, use_reentrant=reentrant))
    at = classes(trace, "forward")
    assert "activation" not in at and at["temporary"] == ROWS
    kept = max(int(n) for n in trace.by_class[:, CLASSES.index("activation")])
    # Recomputed in backward: three linear outputs and two GELUs; nobody keeps the last GELU's output.
    assert kept == 5 * ROWS
    assert {e.module for e in trace.events if e.cls == "activation"} <= {"0.1", "1.0", "1.1", "2.0", "2.1"}
    assert {e.phase for e in trace.events if e.cls == "activation"} == {"backward"}


def test_what_selective_checkpointing_caches_is_kept_for_backward(batch):
    """It stores the results of matrix products itself, beside autograd: the last one's is the output."""
    block = nn.Sequential(*(nn.Sequential(nn.Linear(N, N, bias=False), nn.GELU()) for _ in range(3)))
    keeps = partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    trace = step(block, batch, forward=lambda x: checkpoint(block, x, use_reentrant=False, context_fn=keeps))
    assert classes(trace, "forward") == {
        "parameter": 3 * WEIGHT,
        "input": ROWS,
        "activation": 3 * ROWS,
        "temporary": ROWS,
    }
    assert "activation" not in classes(trace, "backward")


def test_a_tied_weight_and_its_gradient_count_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(N, N), nn.Linear(N, N, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens):
            return self.head(self.embed(tokens))

    trace = step(Tied(), torch.randint(N, (B,)))
    assert classes(trace, "start") == {"parameter": WEIGHT, "input": B * 8}
    held = {"parameter": WEIGHT, "input": B * 8, "gradient": WEIGHT, "temporary": ROWS}
    assert classes(trace, "backward") == held
    assert {e.module for e in trace.events if e.cls == "parameter"} == {"embed"}


def test_a_frozen_layer_has_no_gradient_and_keeps_no_input(batch):
    model = linear(3)
    model[1].requires_grad_(False)
    trace = step(model, batch)
    # The third layer's input; the second one's weight is enough
    assert classes(trace, "forward")["activation"] == ROWS
    assert classes(trace, "backward")["gradient"] == 2 * WEIGHT


def test_without_grad_nothing_is_kept(batch):
    model = linear(3)
    with track(model, None, batch) as watch, torch.no_grad():
        out = model(batch)
        watch.mark("forward")
    assert classes(watch.trace, "forward") == {"parameter": 3 * WEIGHT, "input": ROWS, "temporary": out.nbytes}
    assert not [e for e in watch.trace.events if e.cls == "activation"]


def test_views_and_in_place_operators_are_no_blocks(batch):
    with track(linear(), None, batch) as watch:
        made = torch.empty(B, N)
        before = len(watch.trace)
        view = made.view(-1)[3:].t()
        made.relu_().add_(1)
        made.t().copy_(batch.t())
        torch.mul(batch, 2, out=made)
        assert len(watch.trace) == before and view.numel() == B * N - 3


def test_out_and_resize_make_and_free_blocks(batch):
    with track(linear(), None, batch) as watch:
        made = torch.empty(0)
        torch.mul(batch, 2, out=made)
        made.resize_(2 * B, N)
        made.untyped_storage().resize_(0)
        watch.mark("empty")
        made.untyped_storage().resize_(ROWS)
        watch.mark("again")
        batch.untyped_storage().resize_(0)
        watch.mark("no input")
    changes = [(e.kind, e.nbytes, e.cls) for e in watch.trace.events if e.op not in ("weight", "input") and e.nbytes]
    assert changes == [
        ("alloc", ROWS, "temporary"),
        ("alloc", 2 * ROWS, "temporary"),  # the new block is there before the old one goes, as in the allocator
        ("free", ROWS, "temporary"),
        ("free", 2 * ROWS, "temporary"),
        ("alloc", ROWS, "temporary"),
    ]
    assert [n for _, _, n in watch.trace.marks] == [WEIGHT + ROWS, WEIGHT + 2 * ROWS, WEIGHT + ROWS]


def test_a_kept_tensor_that_lives_on_is_temporary_again(batch):
    with track(linear(), None, batch) as watch:
        inside = batch.clone().requires_grad_()
        middle = inside * 2
        end = middle.sin()
        watch.mark("kept")
        end.sum().backward()
        watch.mark("dropped")
    assert classes(watch.trace, "kept")["activation"] == ROWS
    assert "activation" not in classes(watch.trace, "dropped") and middle.shape == (B, N)


def test_a_class_given_by_hand_stays(batch):
    with track(linear(), None, batch) as watch:
        cache = {"k": torch.zeros(B, N, requires_grad=True), "v": [torch.zeros(B, N)]}
        watch.register(cache, "cache")
        kept = cache["k"].sin()
        watch.mark("here")
        assert kept.grad_fn is not None
    assert classes(watch.trace, "here")["cache"] == 2 * ROWS
    with track(linear()) as watch, pytest.raises(TrackError, match=r"cache.*got 'kv'"):
        watch.register(batch, "kv")


def test_a_storage_of_no_bytes_can_have_a_class_already(batch):
    with track(linear()) as watch:
        gathered = torch.empty(0)
        watch.register(gathered, "parameter")
        gathered.untyped_storage().resize_(ROWS)
        watch.mark("filled")
    assert classes(watch.trace, "filled") == {"parameter": WEIGHT + ROWS}


def test_a_copy_of_the_model_is_not_the_model(batch):
    from copy import deepcopy

    model = linear(2)
    with track(model, None, batch) as watch:
        copy = deepcopy(model)
        watch.mark("copied")
        copy(batch).sum().backward()
        del copy
        watch.mark("gone")
    assert classes(watch.trace, "copied")["temporary"] == 2 * WEIGHT
    assert classes(watch.trace, "gone") == {"parameter": 2 * WEIGHT, "input": ROWS}


def test_the_tracker_keeps_no_tensor_alive(batch):
    model = linear(2)
    with track(model, None, batch):
        out = model(batch).tanh().softmax(-1)  # both keep their own output
        storage = weakref.ref(out.untyped_storage())
        del out
        assert storage() is None


def test_a_graph_outlives_the_tracker(batch):
    model = linear(2)
    with track(model, None, batch) as watch:
        loss = model(batch).tanh().sum()
    count = len(watch.trace)
    loss.backward()
    assert model[0].weight.grad is not None and len(watch.trace) == count


def test_collectives_buffers_are_communication():
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        model = linear()
        with track(model, None, ()) as watch:
            bucket, result = torch.ones(B, N), torch.empty(B, N)
            watch.mark("before")
            getattr(dist, "all_gather_single", dist.all_gather_into_tensor)(result, bucket)  # torch 2.13; before
            model(bucket).sum().backward()
            dist.all_reduce(model[0].weight.grad)
            watch.mark("after")
    finally:
        dist.destroy_process_group()
    assert classes(watch.trace, "before") == {"parameter": WEIGHT, "temporary": 2 * ROWS}
    after = classes(watch.trace, "after")
    assert after == {"parameter": WEIGHT, "gradient": WEIGHT, "communication": ROWS, "temporary": ROWS}
