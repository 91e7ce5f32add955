"""The tracker against the allocator, CPU against meta, and what it leaves behind: nothing."""

import gc
import json
from functools import cache
from types import SimpleNamespace

import pytest
import torch
from allocators_peak import allocators_peak
from torch import nn
from torch.nn.modules import module as torch_module
from torch.testing._internal.two_tensor import TwoTensor

from helpers.measure import TrackError, article_model, track
from helpers.memory import CLASSES, Trace
from helpers.tracker import where


def step(model, batch, optimizer, watch=None):
    """A whole training step; a stage after each part."""
    mark = watch.mark if watch is not None else lambda name: None
    loss = model(batch).square().mean()
    mark("after forward")
    loss.backward()
    mark("after backward")
    optimizer.step()
    mark("after step")
    optimizer.zero_grad()
    mark("after zero_grad")


@cache
def tracked(device, layers=2, foreach=None, width=64, heads=4, tokens=16):
    """The trace of one step on `device`; the same one for every test that asks."""
    with torch.device(device):
        model, batch = (
            article_model(layers, width, heads, 2 * width if width == 64 else 4 * width),
            torch.rand(4, tokens, width),
        )
    optimizer = torch.optim.Adam(model.parameters(), foreach=foreach)
    with track(model, optimizer, batch) as watch:
        step(model, batch, optimizer, watch)
    return watch.trace


def signed(trace):
    """Every event as (kind, block, signed size, class, op, module, phase)."""
    sign = {"free": -1}
    return [(e.kind, e.block, sign.get(e.kind, 1) * e.nbytes, e.cls, e.op, e.module, e.phase) for e in trace.events]


@pytest.mark.parametrize("foreach", [None, True])
def test_meta_events_equal_cpu_events_one_for_one(foreach):
    cpu, meta = tracked("cpu", foreach=foreach), tracked("meta", foreach=foreach)
    assert len(cpu) > 500 and signed(cpu) == signed(meta)
    assert (cpu.source, meta.source) == ("tracked (CPU tensors)", "predicted (meta)")
    assert cpu.events[-1].seconds > 0 and {e.seconds for e in meta.events} == {0}


def test_the_article_s_model_runs_alike_on_cpu_and_on_meta():
    cpu, meta = (tracked(device, layers=6, width=512, heads=8, tokens=128) for device in ("cpu", "meta"))
    assert len(cpu) == 1855 - 3 and signed(cpu) == signed(meta)


def test_classes_add_up_and_the_peak_is_at_no_stage():
    trace = tracked("cpu")
    assert (trace.by_class.sum(axis=1) == trace.total).all() and (trace.by_class >= 0).all()
    assert trace.peak.nbytes > max(nbytes for _, _, nbytes in trace.marks)
    assert Trace.from_json(trace.to_json()).peak == trace.peak


def test_phases_and_modules_find_themselves():
    trace = tracked("cpu")
    seen = dict.fromkeys(e.phase for e in trace.events)
    assert list(seen) == ["", "forward", "backward", "step", "zero_grad"]
    names = {name for name, _ in article_model(2, 64, 4, 128).named_modules()}
    used = {e.module for e in trace.events if e.phase == "backward" and e.kind == "alloc"}
    assert used <= names and {"layers.1.linear2", "layers.0.self_attn", "layers.0.norm1"} <= used
    gradients = {e.module for e in trace.events if e.kind == "class" and e.cls == "gradient"}
    assert gradients == {e.module for e in trace.events if e.cls == "parameter" and e.kind == "alloc"}


def test_a_node_of_backward_belongs_to_the_module_that_made_it():
    model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Tanh(), nn.Linear(8, 8)), nn.Sigmoid())
    with track(model, None, batch := torch.rand(4, 8)) as watch:
        model(batch).sum().backward()
    made = [(e.op, e.module) for e in watch.trace.events if e.phase == "backward" and e.kind == "alloc"]
    assert ("aten::sigmoid_backward", "2") in made and ("aten::tanh_backward", "1.0") in made
    assert [module for op, module in made if op == "aten::mm"] == ["1.1", "1.1", "0"]


def test_what_was_made_before_any_module_belongs_to_none(monkeypatch):
    model = nn.Sequential(nn.Linear(1, 1))
    place = where.Place(model)
    monkeypatch.setattr(where, "next_number", lambda: 5)
    place.enter(model[0], None)
    found = []
    for number in (0, 5):
        monkeypatch.setattr(where, "current_node", lambda number=number: SimpleNamespace(_sequence_nr=lambda: number))
        found.append(place._backward_of())
    assert found == ["", "0"]


def test_what_a_tensor_of_another_class_holds_is_seen():
    with track(nn.Linear(1, 1)) as watch:
        two = TwoTensor(torch.ones(256), torch.ones(256))
        kept = two + two
    made = [e.nbytes for e in watch.trace.events if e.kind == "alloc" and e.op == "aten::add"]
    assert made == [kept.a.nbytes, kept.b.nbytes] == [1024, 1024]


class Labelled(torch.Tensor):
    """A class of its own that is no wrapper: it holds its values itself, and gives its class to what operators make of it."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        with torch._C._DisableTorchDispatch():
            return torch.Tensor._make_subclass(cls, func(*args, **(kwargs or {})))


def test_what_a_tensor_of_a_class_without_parts_holds_is_seen_once():
    with track(nn.Linear(1, 1)) as watch:
        one = torch.Tensor._make_subclass(Labelled, torch.ones(256))
        kept = one + one
        view = kept[:8]
    made = [e.nbytes for e in watch.trace.events if e.kind == "alloc" and e.op == "aten::add"]
    assert made == [kept.untyped_storage().nbytes()] == [view.untyped_storage().nbytes()] == [1024]


def test_a_phase_by_hand_wins():
    model = nn.Linear(8, 8)
    with track(model) as watch, watch.phase("warm up"):
        model(torch.ones(2, 8))
    assert {e.phase for e in watch.trace.events if e.op == "aten::addmm"} == {"warm up"}


# against the allocator -----------------------------------------------------------------------------------------------
class Tied(nn.Module):
    """Embedding, a residual MLP, and the embedding again as the head."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(300, 64), nn.LayerNorm(64)
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, tokens):
        x = self.embed(tokens)
        return (x + self.down(nn.functional.gelu(self.up(self.norm(x))))) @ self.embed.weight.T


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 15 * 15, 10)
    )


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        (lambda: article_model(3, 64, 8, 256), lambda: torch.rand(2, 16, 64)),
        (Tied, lambda: torch.randint(300, (4, 20))),
        (cnn, lambda: torch.rand(8, 3, 32, 32)),
    ],
    ids=["transformer", "tied", "cnn"],
)
def test_the_peak_is_the_allocators_to_a_kibibyte(make, batch):
    model, batch = make(), batch()
    optimizer = torch.optim.Adam(model.parameters())
    step(model, batch, optimizer)  # the state is there: both count from the same start
    gc.collect()
    real = allocators_peak(lambda: step(model, batch, optimizer))
    with track(model, optimizer, batch) as watch:
        start = len(watch.trace)
        step(model, batch, optimizer)
    trace = watch.trace
    assert real > 100_000 and abs(trace.peak.nbytes - int(trace.total[start - 1]) - real) <= 1024


def test_scratch_inside_a_kernel_is_what_it_cannot_see():
    """oneDNN's LSTM allocates inside its kernel: the allocator saw it, no dispatcher did."""
    model, batch = nn.LSTM(32, 64, 2, batch_first=True), torch.rand(4, 20, 32)

    def run():
        model(batch)[0].sum().backward()

    run()
    model.zero_grad()
    real = allocators_peak(run)
    model.zero_grad()
    with track(model, None, batch) as watch:
        start = int(watch.trace.total[-1])
        run()
    assert watch.trace.peak.nbytes - start < real


# what it leaves behind -----------------------------------------------------------------------------------------------
def hooks(model, optimizer):
    """Everything that a tracker hangs somewhere."""
    return (
        dict(torch_module._global_forward_hooks),
        dict(torch_module._global_forward_pre_hooks),
        [dict(p._post_accumulate_grad_hooks or {}) for p in model.parameters()],
        dict(optimizer._optimizer_step_pre_hooks),
        dict(optimizer._optimizer_step_post_hooks),
        vars(optimizer).get("zero_grad"),
        torch.UntypedStorage.resize_,
        torch.autograd.graph.saved_tensors_hooks.__enter__,
        torch._C._autograd._saved_tensors_hooks_is_enabled(),
        torch._C._len_torch_dispatch_stack(),
    )


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_behind(fails):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = hooks(model, optimizer)
    try:
        with track(model, optimizer) as watch:
            model(torch.ones(2, 8)).sum().backward()
            if fails:
                model(torch.ones(2, 9))
    except RuntimeError as error:
        assert "shapes cannot be multiplied" in str(error)
    assert hooks(model, optimizer) == before
    count = len(watch.trace)
    model(torch.ones(2, 8))
    assert len(watch.trace) == count
    with track(model):
        pass


def test_after_an_error_in_a_module_the_next_one_has_its_own_name():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(9, 9))
    with track(model) as watch:
        with pytest.raises(RuntimeError):
            model(torch.ones(2, 8))
        kept = model[0](torch.ones(2, 8))
        assert kept.shape == (2, 8)
        outside = torch.ones(3)
    made = [(e.op, e.module) for e in watch.trace.events if e.kind == "alloc" and e.op.startswith("aten")]
    assert made[-2:] == [("aten::addmm", "0"), ("aten::ones", "")] and outside.shape == (3,)


def test_outputs_are_the_models_own():
    """A forward hook that returned something would replace them."""
    model, batch = article_model(1, 16, 2, 32).eval(), torch.rand(2, 4, 16)
    plain = model(batch)
    with track(model, None, batch):
        assert torch.equal(model(batch), plain)
        assert torch.equal(model[0](batch) if isinstance(model, nn.Sequential) else model(batch), plain)


def test_the_fast_path_of_a_transformer_stays_on():
    model, batch = article_model(1, 16, 2, 32, dropout=0.0).eval(), torch.rand(2, 4, 16)
    with track(model, None, batch) as watch, torch.inference_mode():
        model(batch)
    assert "aten::_transformer_encoder_layer_fwd" in {e.op for e in watch.trace.events}


def test_a_write_to_a_saved_tensor_is_still_an_error():
    model, batch = nn.Linear(8, 8), torch.rand(2, 8)
    with track(model, None, batch):
        kept = model(batch).sigmoid()
        kept.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            kept.sum().backward()


def test_a_second_tracker_inside_the_first_is_refused():
    model = nn.Linear(8, 8)
    with track(model), pytest.raises(TrackError, match="a tracker is on already"), track(model):
        pass
    with track(model):
        pass


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"model": "GPT-2"}, TrackError, "wants a torch.nn.Module, got str"),
        ({"model": nn.Linear(2, 2), "optimizer": 3}, TypeError, "int"),
        ({"model": nn.Linear(2, 2), "optimizer": ["adam"]}, TypeError, "got str"),
    ],
)
def test_what_is_no_model_or_optimizer_is_refused(given, error, says):
    with pytest.raises(error, match=says), track(**given):
        pass


def test_a_model_on_two_devices_is_refused():
    mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta"))
    with pytest.raises(TrackError, match="got cpu, meta"), track(mixed):
        pass


def test_every_event_is_told_as_it_happens():
    model, told = nn.Linear(8, 8), []
    with track(model, on_event=told.append) as watch:
        assert [e.op for e in told] == ["weight", "bias"]
        model(torch.ones(2, 8)).sum().backward()
        watch.mark("end")
    assert tuple(told) == watch.trace.events and told[-1].op == "end"
    watch.label(label="a line")
    assert watch.trace.about["label"] == "a line" and json.loads(watch.trace.to_json())["about"]["nparams"] == 72


def test_meta_can_count_meta_alone():
    model = nn.Linear(8, 8, device="meta")
    with track(model, devices=("meta",)) as watch:
        kept = torch.zeros(5), torch.empty(5, device="meta")
        assert len(kept) == 2
    assert [e.nbytes for e in watch.trace.events if e.op.startswith("aten")] == [20]
    assert CLASSES.index("parameter") == 0
