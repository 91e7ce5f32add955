"""predict_step: the events of a real run, the published peaks, and what each choice changes."""

import resource
from dataclasses import replace
from functools import partial
from time import process_time

import pytest
import torch
from lanes import some
from torch import nn

from helpers.facts import MODELS
from helpers.measure import build, predict_step, track
from helpers.measure.predict.predict import STAGES
from helpers.step.autocasting import autocast
from helpers.step.precision import OPTIMIZERS, PRECISIONS, MasterWeights, optimizer

GIB = 2**30
TINY = {
    "GPT-2": replace(
        MODELS["GPT-2"], layers=2, hidden=32, heads=4, kv_heads=4, head_dim=8, ffn=64, vocab=96, context=16
    ),
    "Llama-3-8B": replace(MODELS["Llama-3-8B"], layers=2, hidden=32, heads=4, kv_heads=2, head_dim=8, ffn=64, vocab=96),
    "Mixtral-8x7B": replace(
        MODELS["Mixtral-8x7B"], layers=2, hidden=32, heads=4, kv_heads=2, head_dim=8, ffn=64, vocab=96, experts=4
    ),
}


def events(shape, device, steps=2):
    """What happens on that device, without operator substitution; attention written out, for the CPU has a flash kernel of its own."""
    model = build(shape, attention="math", device=device)
    tokens = torch.zeros(2, 16, dtype=torch.int64, device=device)
    adam = torch.optim.AdamW(model.parameters(), foreach=False)
    with track(model, adam, (tokens,), devices=(device,)) as watch:
        for _ in range(steps):
            model(tokens, tokens).backward()
            adam.step()
            adam.zero_grad()
    return [(e.kind, e.nbytes, e.cls, e.module, e.phase, e.op) for e in watch.trace.events]


@pytest.mark.parametrize("name", ["GPT-2", "Llama-3-8B"])
def test_meta_events_are_the_real_ones(name):
    real, predicted = events(TINY[name], "cpu"), events(TINY[name], "meta")
    # AdamW's step counts live on the CPU also for meta parameters, so only the real run has them among its 4-byte blocks.
    counts = [e for e in real if e[1] == 4 and e[4] == "step"]
    assert len(counts) > 0
    assert [e for e in real if e not in counts] == [e for e in predicted if e not in counts]


@pytest.mark.parametrize("name", TINY)
def test_a_real_model_has_the_counted_parameters_and_learns(name):
    torch.manual_seed(0)
    model = build(TINY[name], device="cpu")
    assert sum(p.numel() for p in model.parameters()) == TINY[name].nparams
    tokens = torch.randint(0, 96, (4, 16))
    adam = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(12):
        loss = model(tokens, tokens.roll(-1, 1))
        loss.backward()
        adam.step()
        adam.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]


def test_attention_written_out_and_pieces_of_the_loss_change_no_value():
    torch.manual_seed(0)
    model = build(TINY["Llama-3-8B"], device="cpu", dtype=torch.float64)
    tokens = torch.randint(0, 96, (2, 16))
    whole = model(tokens, tokens)
    model.chunks = 4
    torch.testing.assert_close(model(tokens, tokens), whole)
    for layer in model.layers:
        layer.attention.kind = "math"
    torch.testing.assert_close(model(tokens, tokens), whole)


# GiB. The reference table was made with a copy of attention's output, 2 bytes more a token, layer and hidden unit (1 GiB at 7B).
PEAKS = {
    ("Llama-2-7B", 1, 4096, "none"): (108.15, "backward", 19.32),
    ("Llama-3-8B", 2, 8192, "full"): (132.44, "backward", 12.08),
    ("Llama-2-70B", 1, 4096, "none"): (1030.76, "step", 0.0),
}


@pytest.mark.parametrize(
    "case", some(PEAKS, [*PEAKS][:2], "70B: event by event among the recorded predictions"), ids=str
)
def test_where_the_peak_sits(case):
    name, batch, seq, checkpoint = case
    peak, phase, kept = PEAKS[case]
    start = process_time()
    predicted = predict_step(name, batch=batch, seq=seq, checkpoint=checkpoint)
    assert process_time() - start < 5 * (4.0 if "70B" in name else 1.5)
    assert predicted.peak.nbytes / GIB == pytest.approx(peak, abs=0.01)
    assert predicted.where[0] == phase
    assert predicted.peak.by_class["activation"] / GIB == pytest.approx(kept, abs=0.01)
    assert predicted.nparams == MODELS[name].nparams
    # KiB: a guard; benchmarks/predict.py prints the figure
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 5 * 2**20


def test_a_block_of_llama_keeps_12_4g_8r_and_the_other_two_are_a_copy():
    shape = replace(MODELS["Llama-2-7B"], layers=1)
    batch, seq = 1, 256

    def per_unit(change=None):
        model = build(shape, dtype=torch.bfloat16)
        if change:
            model.layers[0].attention.core = partial(change, model.layers[0].attention.core)
        tokens = torch.zeros(batch, seq, dtype=torch.int64, device="meta")
        kept = predict_step(model, inputs=tokens, loss=lambda logits: logits.sum(), steps=1)
        return next(n for name, n in kept.stages if name == STAGES[0]) / (batch * seq * shape.hidden)

    def head_major(core, q, k, v):
        return core(q.contiguous(), k.contiguous(), v.contiguous())

    assert per_unit(head_major) - per_unit() == pytest.approx(2, abs=0.01)
    several = [
        dict(predict_step(replace(shape, layers=n), batch=batch, seq=seq, steps=1).stages)[STAGES[0]] for n in (1, 2)
    ]
    start = [dict(predict_step(replace(shape, layers=n), seq=8, steps=1).stages)["start"] for n in (1, 2)]
    one = (several[1] - several[0] - (start[1] - start[0])) / (batch * seq * shape.hidden)
    g, r = shape.kv_hidden / shape.hidden, shape.ffn / shape.hidden
    rows = (4 * shape.heads + 2 * 4) / shape.hidden
    assert one == pytest.approx(12 + 4 * g + 8 * r + rows, rel=1e-3)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_states_are_those_of_a_real_run(name, precision):
    shape = TINY["GPT-2"]
    model = build(shape, device="cpu", dtype=PRECISIONS[precision])
    real = optimizer(name, model.parameters(), precision)
    tokens = torch.zeros(1, 8, dtype=torch.int64)
    for _ in range(2):
        model(tokens, tokens).backward()
        real.step()
        real.zero_grad()
    owned = [t for state in real.state.values() for t in state.values() if torch.is_tensor(t) and t.dim()]
    owned += list(getattr(real, "masters", {}).values())
    predicted = predict_step(shape, seq=8, optimizer=name, precision=precision).trace
    counts = sum(
        512 for block in predicted.alive(len(predicted) - 1) if block.cls == "optimizer" and block.nbytes == 512
    )
    rounded = sum(-(-t.nbytes // 512) * 512 for t in owned)
    alive = sum(block.nbytes for block in predicted.alive(len(predicted) - 1) if block.cls == "optimizer")
    small = sum(512 for t in owned if t.nbytes <= 512)
    assert alive - counts == rounded - small


def test_bytes_of_a_parameter():
    for precision, optimizer_name, expected in (
        ("fp32", "adamw", 16),
        ("bf16", "adamw", 16),
        ("bf16-fp32grads", "adamw", 18),
        ("autocast", "adamw-fused", 16),
        ("bf16-true", "adamw", 8),
        ("bf16-true", "adamw-foreach", 8),
        ("fp32", "sgd", 8),
        ("fp32", "momentum", 12),
        ("bf16", "momentum", 12),
        ("bf16", "sgd", 8),
    ):
        done = predict_step(replace(MODELS["GPT-2"], layers=1), seq=8, precision=precision, optimizer=optimizer_name)
        after = [n for name, n in done.stages if name == STAGES[2]][-1]
        assert after / done.nparams == pytest.approx(expected, rel=2e-3), precision


def test_foreach_adds_a_copy_of_all_and_fused_nothing():
    shape = replace(MODELS["GPT-2"], layers=4)
    peaks = {
        name: predict_step(shape, seq=8, precision="fp32", optimizer=name) for name in OPTIMIZERS if "adamw" in name
    }
    p = 4 * shape.nparams
    step = {
        name: max(t for e, t in zip(done.trace.events, done.trace.total, strict=True) if e.phase == "step") / p
        for name, done in peaks.items()
    }
    assert step["adamw-foreach"] == pytest.approx(5, abs=0.02)
    assert step["adamw-fused"] == pytest.approx(4, abs=0.02)
    largest = 4 * shape.vocab * shape.hidden
    assert step["adamw"] == pytest.approx(4 + 2 * largest / p, abs=0.02)


def test_the_second_step_peaks_higher_because_state_is_made_lazily():
    one, two = (predict_step("Llama-2-7B", steps=n, optimizer="adamw-fused").peak.nbytes / GIB for n in (1, 2))
    assert one < 101 < 108 < two


def test_checkpoints_keep_less_and_in_order():
    shape = replace(MODELS["GPT-2"], layers=2)
    kept = {
        kind: dict(predict_step(shape, seq=512, dropout=0.1, attention="math", checkpoint=kind).stages)[STAGES[0]]
        for kind in ("none", "selective", "matmuls", "full")
    }
    assert kept["none"] > kept["selective"] > kept["full"] and kept["none"] > kept["matmuls"] > kept["full"]
    core = 2 * 12 * 512**2 * (2 + 1 + 2)
    assert kept["none"] - kept["selective"] == pytest.approx(core, rel=0.01)


def test_autocast_casts_as_torch_does_on_the_cpu():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.Linear(32, 8))
    x = torch.randn(4, 16)

    def traced(around):
        with track(model, None, x) as watch:
            with around:
                out = model(x)
            out.sum().backward()
        model.zero_grad()
        return out, [(e.kind, e.nbytes, e.cls, e.op) for e in watch.trace.events]

    ours, mine = traced(autocast())
    theirs, real = traced(torch.autocast("cpu", torch.bfloat16))
    assert torch.equal(ours, theirs)
    key = lambda events: sorted((kind, n) for kind, n, *_ in events if kind != "class")  # noqa: E731
    assert key(mine) == key(real)


def test_master_weights_follow_torchs_adam():
    torch.manual_seed(0)
    start = torch.randn(8, 8)
    half, full = nn.Parameter(start.bfloat16()), nn.Parameter(start.bfloat16().float())
    mine, real = MasterWeights([half], "adamw"), torch.optim.AdamW([full], lr=1e-3, foreach=False)
    for _ in range(3):
        half.grad = torch.randn(8, 8).bfloat16()
        full.grad = half.grad.float()
        mine.step()
        real.step()
    torch.testing.assert_close(mine.masters[half], full.detach())
    assert torch.equal(half.detach(), full.detach().bfloat16())


def test_a_module_of_your_own():
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
    done = predict_step(model, inputs=lambda: torch.zeros(8, 64), loss=lambda y: y.square().mean(), precision="fp32")
    states = sum(-(-p.nbytes // 512) * 512 for p in model.parameters())
    assert dict(done.stages)["start"] == states + 8 * 64 * 4
    assert [name for name, _ in done.stages] == ["start", *STAGES, *STAGES]
    assert next(model.parameters()).device.type == "cpu"
    assert "KiB" in str(done) and done.trace.source == "predicted (meta)"


def test_experts_are_balanced_on_meta():
    shape = TINY["Mixtral-8x7B"]
    layer = build(shape).layers[0].mlp
    counts = layer.counts(torch.empty(7, 2, dtype=torch.int64, device="meta"))
    assert sum(counts) == 14 and max(counts) - min(counts) <= 1
    assert layer.counts(torch.tensor([[0, 1], [0, 3]])) == [2, 1, 0, 1]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"model": "Llama-9"}, "Llama-2-7B.*got 'Llama-9'"),
        ({"model": 3}, "an nn.Module, got 3"),
        ({"model": "DeepSeek-V3"}, "latent attention"),
        ({"batch": 0}, "batch is a positive whole number, got 0"),
        ({"seq": 2048}, "1024 tokens, got seq=2048"),
        ({"steps": 1.5}, "1.5"),
        ({"optimizer": "lion"}, "adamw-fused, got 'lion'"),
        ({"precision": "fp8"}, "autocast, fsdp2, fsdp2-bf16-reduce, fsdp2-fp32, got 'fp8'"),
        ({"checkpoint": "some"}, "full, got 'some'"),
        ({"attention": "ring"}, "math, got 'ring'"),
        ({"dropout": 1.0}, "below 1, got 1.0"),
        ({"model": nn.Linear(2, 2)}, "inputs="),
        ({"inputs": torch.zeros(1)}, "belong to an nn.Module"),
        (
            {"model": nn.Linear(2, 2), "inputs": torch.zeros(1, 2), "loss": torch.sum, "checkpoint": "full"},
            "Linear has none",
        ),
    ],
)
def test_what_cannot_be_predicted_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        predict_step(**({"model": "GPT-2"} | wrong))
