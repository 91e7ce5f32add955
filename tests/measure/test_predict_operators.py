"""What an operator keeps for backward inside cuda_like, against the formula that torch's CUDA build differentiates."""

from pathlib import Path

import pytest
import torch
import torchgen
import yaml
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from helpers.measure import cuda_like
from helpers.measure.predict.attention import attention_kernel

FORMULAS = Path(torchgen.__file__).parent / "packaged" / "autograd" / "derivatives.yaml"
N, H = 6, 8


def formula(name):
    """The entry of derivatives.yaml for an operator, as text."""
    entries = [e for e in yaml.safe_load(FORMULAS.read_text()) if e["name"].startswith(name + "(")]
    assert entries, name
    return " ".join(str(value) for value in entries[0].values())


def kept(function, *, leaves=()):
    """Bytes of each storage that is kept, without the leaves."""
    seen = {}
    known = {leaf.untyped_storage()._cdata for leaf in leaves}

    def pack(tensor):
        seen[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        alive.append(tensor)
        return tensor

    alive = []
    with cuda_like(), saved_tensors_hooks(pack, lambda tensor: tensor):
        alive.append(function())
    return sorted(nbytes for key, nbytes in seen.items() if key not in known)


def meta(*shape, dtype=torch.bfloat16):
    return torch.empty(shape, device="meta", dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_keeps_one_byte_an_element(dtype):
    x = meta(N, H, dtype=dtype)
    assert "result1" in formula("native_dropout")
    assert kept(lambda: F.dropout(x, 0.1), leaves=[x]) == [N * H]
    assert kept(lambda: torch.nn.Dropout(0.1)(x), leaves=[x]) == [N * H]


@pytest.mark.parametrize(("dtype", "width"), [(torch.float32, 4), (torch.bfloat16, 2)])
def test_norms_keep_their_input_and_fp32_numbers_a_row(dtype, width):
    x, w, b = meta(N, H, dtype=dtype), meta(H, dtype=dtype), meta(H, dtype=dtype)
    assert all(word in formula("_fused_rms_norm") for word in ("input", "weight", "result1"))
    assert kept(lambda: F.rms_norm(x, (H,), w)) == sorted([N * H * width, N * 4, H * width])
    assert all(word in formula("native_layer_norm") for word in ("input", "result1", "result2"))
    assert kept(lambda: F.layer_norm(x, (H,), w, b), leaves=[w, b]) == sorted([N * H * width, N * 4, N * 4])


def test_a_norm_whose_weight_has_another_type_is_taken_apart_as_on_cuda():
    x, w = meta(N, H), meta(H, dtype=torch.float32)
    assert sum(kept(lambda: F.rms_norm(x, (H,), w), leaves=[w])) > N * H * 2 + N * 4


@pytest.mark.parametrize("heads", [(4, 4), (4, 2)])
def test_flash_attention_keeps_q_k_v_output_and_a_number_a_row(heads):
    a, k = heads
    q, key, value = meta(2, a, N, H), meta(2, k, N, H), meta(2, k, N, H)
    entry = formula("_scaled_dot_product_flash_attention")
    assert all(word in entry for word in ("query", "key", "value", "output", "logsumexp"))
    seeds = [16, 8]
    expected = [2 * a * N * H * 2, *[2 * k * N * H * 2] * 2, 2 * a * N * H * 2, 2 * a * N * 4, *seeds]
    found = kept(lambda: F.scaled_dot_product_attention(q, key, value, is_causal=True, enable_gqa=a != k))
    assert found == sorted(expected)


def test_multihead_attention_finds_the_swapped_attention():
    layer = torch.nn.MultiheadAttention(16, 2, batch_first=True, device="meta", dtype=torch.bfloat16)
    x = meta(2, N, 16)
    scores = 2 * 2 * N * N * 2
    assert scores not in kept(lambda: layer(x, x, x, need_weights=False)[0])


def test_the_kernel_is_cudas_choice():
    half, full = meta(1, 4, N, H), meta(1, 4, N, H, dtype=torch.float32)
    mask = torch.zeros(N, N, device="meta")
    assert attention_kernel(half, half, half) == "flash"
    assert attention_kernel(full, full, full) == "efficient"
    assert attention_kernel(half, half, half, mask) == "efficient"
    fewer = full[:, :2]
    assert attention_kernel(full, fewer, fewer, enable_gqa=True) == "math"
    wide = meta(1, 4, N, 264)
    assert attention_kernel(wide, wide, wide) == "efficient"
    assert attention_kernel(half, half[:, :, :2], half[:, :, :2], is_causal=True) == "efficient"
    assert attention_kernel(half, half, meta(1, 4, N, 2 * H)) == "efficient"
    assert attention_kernel(half, half, half, mask.requires_grad_()) == "efficient"
    twelve, turned = meta(1, 4, N, 12), meta(1, 4, H, H).transpose(2, 3)
    assert attention_kernel(twelve, twelve, twelve, mask) == "math", "a width of whole eights, and of fours in fp32"
    assert attention_kernel(turned, turned, turned) == "math", "a head lies in one piece"
    assert attention_kernel(half, half.float(), half) == attention_kernel(full.double(), *[full.double()] * 2) == "math"


def test_what_sdpa_kernel_allows_is_kept_to():
    half, full = meta(1, 4, N, H), meta(1, 4, N, H, dtype=torch.float32)
    with sdpa_kernel(SDPBackend.MATH):
        assert attention_kernel(half, half, half) == "math"
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        assert attention_kernel(half, half, half) == "flash", "which keeps the same"
    with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
        assert attention_kernel(half, half, half) == "efficient"
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION), pytest.raises(ValueError, match="could take efficient, math on CUDA"):
        attention_kernel(full, full, full)


def test_a_head_of_an_odd_width_is_padded_for_flash_attention_and_a_mask_for_the_other():
    odd, mask = meta(1, 4, N, 5), torch.ones(N, 5, dtype=torch.bool, device="meta")
    padded, out = 4 * N * 8 * 2, F.scaled_dot_product_attention
    assert kept(lambda: out(odd, odd, odd)) == sorted([*[padded] * 4, 4 * N * 4, 16, 8])
    q, k = meta(1, 4, N, H), meta(1, 4, 5, H)
    assert N * 8 * 2 in kept(lambda: out(q, k, k, mask)), "five numbers a row, eight apart"


def test_a_softmax_that_widens_keeps_its_result_only():
    x = meta(N, H)
    for function in (F.softmax, F.log_softmax):
        assert kept(lambda function=function: function(x, dim=-1, dtype=torch.float32)) == [N * H * 4]


def test_cross_entropy_keeps_one_fp32_table():
    logits, targets = meta(N, H), torch.empty(N, dtype=torch.int64, device="meta")
    assert "result" in formula("_log_softmax")
    found = kept(lambda: F.cross_entropy(logits.float(), targets), leaves=[targets])
    assert found == [4, N * H * 4]


@pytest.mark.parametrize(("function", "name", "word"), [(F.gelu, "gelu", "self"), (F.silu, "silu", "self")])
def test_activations_keep_their_input_and_relu_its_result(function, name, word):
    x = meta(N, H)
    assert word in formula(name)
    assert kept(lambda: function(x), leaves=[x]) == []
    assert kept(lambda: function(x * 1.0)) == [N * H * 2]
    assert "result" in formula("relu") and kept(lambda: F.relu(x)) == [N * H * 2]


def test_cpu_tensors_are_computed_as_ever():
    x = torch.randn(4, 8)
    plain = F.rms_norm(x, (8,))
    with cuda_like():
        assert torch.equal(F.rms_norm(x, (8,)), plain)
        assert torch.equal(F.softmax(x, -1), torch.softmax(x, -1))
        dropped = F.dropout(x, 0.5)
    assert set(dropped.flatten().tolist()) <= set((2 * x).flatten().tolist()) | {0.0}


def test_outside_nothing_is_swapped():
    before = F.dropout, F.scaled_dot_product_attention, torch._fused_adamw_
    with pytest.raises(RuntimeError, match="on purpose"), cuda_like():
        assert before[0] is not F.dropout
        raise RuntimeError("on purpose")
    assert before == (F.dropout, F.scaled_dot_product_attention, torch._fused_adamw_)
