"""The shortcuts on meta tensors: torch's own answers, in shape, strides and type, and the same prediction without them."""

import itertools
from dataclasses import replace
from unittest import mock

import pytest
import torch

from helpers.facts import MODELS
from helpers.measure import predict_step
from helpers.measure.predict import layouts, predict
from helpers.measure.predict.fast_meta import FastMeta, aten

SHAPES = [
    ((3, 4, 5), (3, 4, 5)),
    ((3, 4, 5), (4, 1)),
    ((3, 1, 5), (1, 4, 1)),
    ((5,), (2, 5)),
    ((2, 3, 4, 8), (3, 1, 8)),
]
LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    "half": lambda x: torch.cat((x, x), dim=-1).chunk(2, dim=-1)[0],
    "swapped": lambda x: x.unsqueeze(0).transpose(0, -1).contiguous().transpose(0, -1).squeeze(0),
    "expanded": lambda x: x[..., :1].expand(x.shape),
}
TYPES = (torch.float32, torch.bfloat16)


def layout(tensor):
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.untyped_storage().nbytes()


def alike(function):
    """The same call with and without shortcuts; None results count, too."""
    plain = function()
    with FastMeta():
        fast = function()
    many = isinstance(plain, tuple)
    return [None if t is None else layout(t) for t in (plain if many else (plain,))], [
        None if t is None else layout(t) for t in (fast if many else (fast,))
    ]


@pytest.mark.parametrize(
    "op", [aten.mul.Tensor, aten.add.Tensor, aten.sub.Tensor, aten.div.Tensor, aten.logaddexp.default, aten.ge.Tensor]
)
def test_two_operands_of_any_layout(op):
    pairs = [(TYPES[0], TYPES[0]), (TYPES[1], TYPES[1]), TYPES]
    for (a, b), one, two, (here, there) in itertools.product(SHAPES, LAYOUTS.values(), LAYOUTS.values(), pairs):
        x, y = one(torch.empty(a, device="meta", dtype=here)), two(torch.empty(b, device="meta", dtype=there))
        plain, fast = alike(lambda x=x, y=y: op(x, y))
        assert plain == fast


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_stacks_of_any_layout(dim):
    for one, two, shape in itertools.product(LAYOUTS.values(), LAYOUTS.values(), [(3, 4, 6), (2, 3, 4, 6), (1, 5)]):
        x, y = (layout(torch.empty(shape, device="meta")) for layout in (one, two))
        plain, fast = alike(lambda x=x, y=y: torch.stack((x, y), dim))
        assert plain == fast


def test_dropout_of_any_layout():
    for one in LAYOUTS.values():
        x = one(torch.empty(3, 4, 6, device="meta"))
        plain, fast = alike(lambda x=x: torch.native_dropout(x, 0.1, True))
        assert plain == fast


def test_shapes_that_do_not_fit_are_torchs_error():
    with FastMeta(), pytest.raises(RuntimeError, match="broadcast a dimension of length 2"):
        torch.empty(3, 4, device="meta") * torch.empty(2, 4, device="meta")


def test_types_that_mix_are_left_to_torch():
    x = torch.empty(3, 4, device="meta", dtype=torch.bfloat16)
    for other in (torch.empty(4, device="meta"), torch.empty(4, device="meta", dtype=torch.int64), 2.5, True):
        plain, fast = alike(lambda other=other: x * other)
        assert plain == fast
    whole = torch.empty(3, device="meta", dtype=torch.int64)
    plain, fast = alike(lambda: whole * 0.5)
    assert plain == fast and plain[0][2] == torch.float32


@pytest.mark.parametrize("op", [aten.neg.default, aten.sqrt.default, aten.silu.default])
def test_one_operand(op):
    for shape, one in itertools.product([(3, 4, 5), (1, 6)], LAYOUTS.values()):
        x = one(torch.empty(shape, device="meta"))
        plain, fast = alike(lambda x=x: op(x))
        assert plain == fast


def test_norms_dropout_cat_and_addmm():
    x = torch.empty(2, 3, 8, device="meta", dtype=torch.bfloat16)
    weight = torch.empty(8, device="meta", dtype=torch.bfloat16)
    target = torch.empty(3, dtype=torch.int64, device="meta")
    statistics = torch.empty(2, 3, 1, device="meta")
    for call in (
        lambda: torch.native_layer_norm(x, [8], weight, weight, 1e-5),
        lambda: aten.native_layer_norm_backward(x, x, [8], statistics, statistics, weight, weight, [True, True, True]),
        lambda: aten.native_layer_norm_backward(x, x, [8], statistics, statistics, weight, None, [True, True, False]),
        lambda: torch.native_dropout(x, 0.1, True),
        lambda: torch.cat((x, x), dim=-1),
        lambda: torch.cat((x, x.chunk(2, -1)[0]), dim=-1),
        lambda: torch.cat((x[:1], x)),
        lambda: torch.cat((x,)),
        lambda: torch.log_softmax(x, -1),
        lambda: torch.softmax(x.transpose(0, 1), 1),
        lambda: aten._log_softmax_backward_data(x, x, -1, x.dtype),
        lambda: aten.nll_loss_forward(x[0].float(), target, None, 1, -100),
        lambda: aten.nll_loss_backward(weight[0], x[0], target, None, 1, -100, weight[0]),
        lambda: torch.arange(0, 7, 2, device="meta", dtype=torch.float32),
        lambda: torch.arange(5, device="meta"),
        lambda: torch.nn.functional.gelu(x, approximate="tanh"),
        lambda: torch.empty_like(x),
        lambda: torch.mm(x[0], x[1].t()),
        lambda: torch.nn.functional.embedding(target, x[0]),
        lambda: aten.embedding_dense_backward(x[0], target, 11, -1, False),
        lambda: torch.zeros_like(x.transpose(0, 2), dtype=torch.float32),
        lambda: torch.empty_like(x.chunk(2, -1)[0]),
        lambda: torch.empty_like(x.transpose(0, 2), memory_format=torch.contiguous_format),
        lambda: torch.addmm(weight, x.flatten(0, 1), torch.empty(8, 8, device="meta", dtype=torch.bfloat16).t()),
    ):
        plain, fast = alike(call)
        assert plain == fast


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3)])
def test_flash_attention_and_its_backward(order):
    q, k = (torch.empty([2, n, n, 8], device="meta", dtype=torch.bfloat16).permute(order) for n in (6, 6))
    forward = aten._scaled_dot_product_flash_attention
    backward = aten._scaled_dot_product_flash_attention_backward
    out, rows, *_, seed, offset, _ = forward(q, k, k, 0.0, True, False)
    for call in (
        lambda: [t for t in forward(q, k, k, 0.0, True, False) if isinstance(t, torch.Tensor)],
        lambda: backward(out, q, k, k, out, rows, None, None, 6, 6, 0.0, True, seed, offset),
    ):
        plain, fast = alike(lambda call=call: tuple(call()))
        assert plain == fast


@pytest.mark.parametrize("name", ["GPT-2", "Llama-2-7B"])
def test_a_prediction_is_the_same_without_them(name):
    small = mock.patch.dict(MODELS, {name: _small(MODELS[name])})
    with small:
        options = {"batch": 2, "seq": 32, "checkpoint": "full"}
        fast = predict_step(name, **options).trace
        with mock.patch.multiple(predict, FastMeta=mock.MagicMock(), answers=None):
            plain = predict_step(name, **options).trace
    assert plain.events == fast.events and len(plain) > 100


def _small(shape):
    return replace(shape, layers=2)


SIZES = [(), (1,), (4,), (0,), (3, 1), (3, 4), (0, 4), (2, 1, 4), (2, 3, 1)]


@pytest.mark.parametrize(("one", "other"), [*itertools.product(SIZES, SIZES)], ids=str)
def test_shapes_are_broadcast_as_torch_does(one, other):
    def said(broadcast) -> object:
        try:
            return broadcast(torch.Size(one), torch.Size(other))
        except RuntimeError as error:
            return str(error)

    assert said(layouts.broadcast) == said(torch.broadcast_shapes)
