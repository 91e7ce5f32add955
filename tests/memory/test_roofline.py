"""Intensities are counted from passes; fusion and tiling move them; a roof knows its ridge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.facts import ACCELERATORS, FactError
from helpers.memory.roofline import (
    Roof,
    RooflineError,
    Work,
    attention,
    decode_attention,
    elementwise,
    gemm,
    gemv,
    layer_norm,
    softmax,
)
from helpers.units import Bandwidth

A100 = Roof("A100", 312e12, Bandwidth(2.039e12, "both ways"))


@pytest.mark.parametrize(
    ("work", "intensity"),
    [
        (gemm(4096, 4096, 4096), 4096 / 3),
        (gemv(1, 4096, 4096), 2 * 4096**2 / (2 * (4096**2 + 2 * 4096))),
        (gemv(8, 4096, 4096, weight_nbytes=0.5), 2 * 8 * 4096**2 / (0.5 * 4096**2 + 2 * 2 * 8 * 4096)),
        (elementwise(10**6, inputs=2), 1 / 6),
        (elementwise(10**6, nbytes=4, inputs=2), 1 / 12),
        (softmax(128, 1024), 5 / 4),
        (decode_attention(7, 32, 8, 4096, 128), (4 * 128 + 6) * 4 * 4096 / (2 * (2 * 4096 * 128 + 8 * 128))),
    ],
    ids=lambda value: value.name if isinstance(value, Work) else "",
)
def test_intensities_counted_by_hand(work, intensity):
    assert work.intensity == pytest.approx(intensity, rel=1e-12)


def test_naive_attention_is_near_half_the_head_dimension():
    """4 s s d FLOP over 8 s s B: d/2, and a little more for the softmax, a little less for Q, K, V and O."""
    for dim in (64, 128):
        naive = attention(1, 1, 65536, dim)
        products = 4 * 65536**2 * dim
        assert products / naive.nbytes == pytest.approx(dim / 2, rel=0.01)
        assert attention(1, 1, 65536, dim, fused=True).intensity > 100 * naive.intensity


def test_layer_norm_reads_its_row_once():
    work = layer_norm(8192, 4096)
    assert (work.read, work.written) == (2 * (8192 * 4096 + 2 * 4096), 2 * 8192 * 4096)
    assert 1.9 < work.intensity < 2


def test_fusing_keeps_the_flops_and_drops_what_stays_near():
    scale, add = elementwise(1000, name="scale"), elementwise(1000, inputs=2, name="add")
    chain = scale.then(add, x0="y", x1="z")
    assert (chain.read, chain.written, chain.flops) == (6000, 4000, 2000)
    one = chain.fused()
    assert (one.read, one.written, one.flops) == (4000, 2000, 2000)
    assert chain.fused(keep=["y"]).written == 4000
    with pytest.raises(RooflineError, match="cannot keep w"):
        chain.fused(keep=["w"])
    with pytest.raises(RooflineError, match="reads x0, x1, not x2"):
        scale.then(add, x2="y")


def test_an_epilogue_never_lets_the_product_out():
    layer = gemm(64, 64, 64).then(elementwise(64 * 64, flops=9, name="gelu"), x0="C")
    assert layer.nbytes == gemm(64, 64, 64).nbytes + 2 * 64 * 64 * 2
    assert layer.fused().nbytes == gemm(64, 64, 64).nbytes


def test_a_chain_of_like_operations_keeps_its_results_apart():
    chain = elementwise(10).then(elementwise(10), x0="y").then(elementwise(10), x0="y'")
    assert (chain.fused().read, chain.fused().written) == (20, 20)


def test_a_chain_put_behind_an_operation_keeps_its_results_apart():
    gelu_and_add = elementwise(10, name="gelu").then(elementwise(10, inputs=2), x0="y", x1="residual")
    chain = elementwise(10, name="scale").then(gelu_and_add, x0="y")
    assert [next(iter(p.writes)) for p in chain.passes] == ["y", "y'", "y''"]
    (whole,) = chain.fused().passes
    assert (set(whole.reads), set(whole.writes)) == ({"x0", "residual"}, {"y''"})


def test_fused_attention_is_the_naive_one_fused():
    naive, fused = attention(2, 4, 512, 64), attention(2, 4, 512, 64, fused=True)
    assert (naive.fused().flops, naive.fused().read, naive.fused().written) == (fused.flops, fused.read, fused.written)
    tiled = attention(2, 4, 512, 64, fused=True, tile=128)
    each = 2 * 4 * 512 * 64 * 2
    assert tiled.read == each + 2 * 4 * each
    with pytest.raises(RooflineError, match="tile"):
        attention(2, 4, 512, 64, tile=128)


def test_tiles_read_rows_and_columns_again():
    assert gemm(1024, 512, 256, tile=1).read == 2 * (1024 * 256 * 512 + 256 * 512 * 1024)
    assert gemm(1024, 512, 256, tile=1024).read == gemm(1024, 512, 256).read
    assert gemm(100, 100, 100, tile=64).read == 2 * (100 * 100 * 2 + 100 * 100 * 2)


@given(st.integers(1, 4096), st.integers(1, 4096), st.integers(1, 4096), st.integers(1, 512))
def test_a_larger_tile_never_moves_more(m, n, k, tile):
    bytes_by_tile = [gemm(m, n, k, tile=t).nbytes for t in (tile, 2 * tile, 4 * tile)]
    assert bytes_by_tile == sorted(bytes_by_tile, reverse=True)
    assert bytes_by_tile[-1] >= gemm(m, n, k).nbytes


def test_a_roof_has_its_ridge_and_two_sides():
    assert A100.ridge == pytest.approx(153.02, abs=0.01)
    assert A100.attainable(A100.ridge / 2) == pytest.approx(A100.flops / 2)
    assert A100.attainable(2 * A100.ridge) == A100.flops
    assert A100.bound(gemm(4096, 4096, 4096)) == "compute" and A100.bound(gemv(1, 4096, 4096)) == "memory"
    assert A100.seconds(gemm(4096, 4096, 4096)) == pytest.approx(2 * 4096**3 / 312e12)
    naive = attention(1, 32, 4096, 128)
    assert A100.seconds(naive) > A100.seconds(naive.fused())


def test_every_accelerator_has_its_roofs():
    for name, chip in ACCELERATORS.items():
        for dtype in chip.flops:
            assert Roof.of(name, dtype).ridge == pytest.approx(chip.ridge(dtype))
    assert Roof.of("A100", "bf16").ridge == pytest.approx(A100.ridge)
    with pytest.raises(RooflineError, match="no accelerator 'A1000'"):
        Roof.of("A1000", "bf16")
    with pytest.raises(FactError, match="fp8"):
        Roof.of("A100", "fp8")


def test_passes_are_timed_one_by_one():
    """A pass limited by memory and one limited by arithmetic do not help each other."""
    both = gemm(4096, 4096, 4096).then(elementwise(4096**2))
    parts = A100.seconds(gemm(4096, 4096, 4096)) + A100.seconds(elementwise(4096**2))
    assert A100.seconds(both) == pytest.approx(parts)
    assert parts > max(both.flops / A100.flops, both.nbytes / A100.rate)


def test_what_cannot_be_is_refused():
    with pytest.raises(RooflineError, match="both ways"):
        Roof("wrong", 1e12, Bandwidth(1e12, "one way"))
    with pytest.raises(RooflineError, match="positive"):
        Roof("wrong", 0, 1e12)
    with pytest.raises(RooflineError, match="m must be"):
        gemm(0, 4, 4)
    with pytest.raises(RooflineError, match="multiple"):
        decode_attention(1, 12, 8, 10, 64)
    with pytest.raises(RooflineError, match="negative"):
        A100.attainable(-1)
    with pytest.raises(RooflineError, match="one pass"):
        Work("nothing", ())


def test_a_work_prints_its_count():
    text = str(gemm(128, 128, 128))
    assert "2 m n k" in text and "reads A 32 KiB" in text and "42.7 FLOP/B" in text
