"""Operations under the roof: the work counted is the work done, fused or tiled results are equal, and bad questions are refused."""

import json
import time
from itertools import chain

import pytest
import torch
import torch.nn.functional as F

from helpers.measure import gemm_rate, machine_roof, place
from helpers.measure.bandwidth.operations import (
    BATCHES,
    DEGREE,
    GROUPS,
    PANELS,
    On,
    gelu_formula,
    gelu_work,
    horner,
    horner_work,
    panel_work,
)
from helpers.measure.bandwidth.stopwatch import best, threads
from helpers.measure.bandwidth.under_roof import placed
from helpers.memory.roofline import Roof
from helpers.ranks.recorded import _plain
from helpers.tracker.device import at
from helpers.units import Bandwidth

CPU = torch.device("cpu")
N = 512
ON = On(CPU, torch.float32, N)
ROOF = Roof("a roof", 100e9, 50e9)


@pytest.fixture(scope="module")
def cases():
    return {case.op: case for case in chain.from_iterable(group(ON) for group in GROUPS.values())}


@pytest.fixture(scope="module")
def rows():
    return {row.op: row for row in place(n=N, roof=ROOF, seconds=1e-3)}


# what is counted -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "op, flops, read, written",
    [
        ("GEMM 128", 2 * 128**3, 2 * 128**2 * 4, 128**2 * 4),
        ("decode, batch 16", 2 * 16 * N * N, (16 * N + N * N) * 4, 16 * N * 4),
        ("softmax", 5 * N * N, N * N * 4, N * N * 4),
        ("layer norm", 8 * N * N, (N * N + 2 * N) * 4, N * N * 4),
        ("residual add", N * N, 2 * N * N * 4, N * N * 4),
        ("attention, fused", 4 * 256 * 256 * (4 * 64 + 6), 3 * 4 * 256 * 64 * 4, 4 * 256 * 64 * 4),
        (
            "attention, naive",
            4 * 256 * 256 * (4 * 64 + 6),
            (3 * 64 + 2 * 256) * 4 * 256 * 4,
            (64 + 2 * 256) * 4 * 256 * 4,
        ),
        ("polynomial, kernel by kernel", 12 * N * N, (2 + 5 * 3) * N * N * 4, 12 * N * N * 4),
        ("polynomial, tile by tile", 12 * N * N, N * N * 4, N * N * 4),
        ("GELU, nine kernels", 9 * N * N, 12 * N * N * 4, 9 * N * N * 4),
        ("GELU, one kernel", 9 * N * N, N * N * 4, N * N * 4),
        ("C += AB, 4 wide", 2 * 4 * N * N, (N * N + 8 * N) * 4, N * N * 4),
    ],
)
def test_flops_and_bytes_are_those_counted_by_hand(rows, op, flops, read, written):
    row = rows[op]
    assert (row.flops, row.read, row.written) == (flops, read, written)
    assert row.intensity == flops / (read + written)


def test_rows_follow_from_their_seconds(rows):
    for row in rows.values():
        assert row.seconds > 0 and row.attained == row.flops / row.seconds
        assert row.share == pytest.approx(row.attained / min(100e9, 50e9 * row.intensity))


def test_batching_and_widening_raise_the_intensity_and_nothing_lowers_it(rows):
    for names in ([f"decode, batch {b}" for b in BATCHES], [f"C += AB, {w} wide" for w in PANELS]):
        intensities = [rows[name].intensity for name in names]
        assert intensities == sorted(intensities) and intensities[-1] > 20 * intensities[0]


@pytest.mark.parametrize(
    "many, one",
    [("polynomial, kernel by kernel", "polynomial, tile by tile"), ("GELU, nine kernels", "GELU, one kernel")],
)
def test_fusing_keeps_the_flops_and_saves_the_trips(rows, many, one):
    assert rows[many].flops == rows[one].flops and rows[one].intensity > 10 * rows[many].intensity


def test_a_share_is_of_what_the_roof_allows(cases):
    row = placed(cases["residual add"], 1e-3, ROOF)
    assert row.share == pytest.approx(N * N * 12 / 50e9 / 1e-3)  # bound by its bytes
    assert placed(cases["GEMM 128"], 1e-3, ROOF).share == pytest.approx(2 * 128**3 / 1e-3 / 100e9)  # by its FLOPs


# what is done ----------------------------------------------------------------------------------------------------------------
def test_every_case_runs_and_writes_where_it_should(cases):
    assert {case.group for case in cases.values()} == set(GROUPS)
    for case in cases.values():
        assert case.call() is not NotImplemented and case.op and case.work.name


def test_the_polynomial_is_one_and_its_passes_are_its_kernels():
    x = torch.linspace(-1, 1, 7, dtype=torch.float64)
    torch.testing.assert_close(horner(x, torch.empty_like(x)), sum(0.5 * x**k for k in range(DEGREE + 1)))
    assert len(horner_work(10, 4).passes) == 2 * DEGREE and horner_work(10, 4).flops == 2 * DEGREE * 10


def test_the_formula_is_gelu_and_has_nine_kernels():
    x = torch.linspace(-3, 3, 50, dtype=torch.float64)
    torch.testing.assert_close(gelu_formula(x, torch.empty_like(x), torch.empty_like(x)), F.gelu(x, approximate="tanh"))
    with torch.profiler.profile() as seen:
        gelu_formula(x, x.clone(), x.clone())
    kernels = [e for e in seen.events() if e.name in ("aten::mul", "aten::mul_", "aten::add_", "aten::tanh_")]
    assert len(kernels) == len(gelu_work(50, 8).passes) == 9


def tensors(call):
    """The tensors that a case's function holds, by name."""
    names, cells = call.__code__.co_freevars, call.__closure__ or ()
    held = dict(zip(names, (cell.cell_contents for cell in cells), strict=True))
    arguments = zip(call.__code__.co_varnames, call.__defaults__ or (), strict=False)
    return held | dict(arguments)


def test_tile_by_tile_gives_what_kernel_by_kernel_gives(cases):
    whole, tiled = (cases[f"polynomial, {how}"].call for how in ("kernel by kernel", "tile by tile"))
    y = tensors(whole)["y"]
    whole()
    want = y.clone()
    y.zero_()
    tiled()
    assert torch.equal(y, want) and len(tensors(tiled)["tiles"]) == N * N * 4 // (256 << 10)


def test_attention_is_attention(cases):
    held = tensors(cases["attention, naive"].call)
    cases["attention, naive"].call()
    want = cases["attention, fused"].call()[0]
    torch.testing.assert_close(held["o"], want, rtol=1e-4, atol=1e-5)


def test_decoding_is_a_linear_layer(cases):
    held = tensors(cases["decode, batch 8"].call)
    cases["decode, batch 8"].call()
    torch.testing.assert_close(held["y"], F.linear(held["x"], held["weight"]), rtol=1e-4, atol=1e-3)


def test_softmax_and_layer_norm_are_torch_s_own(cases):
    held = tensors(cases["softmax"].call)
    cases["softmax"].call()
    torch.testing.assert_close(held["y"], torch.softmax(held["x"], -1))
    held = tensors(cases["layer norm"].call)
    (x,) = held["parts"]  # one part, since N x N is small
    torch.testing.assert_close(
        torch.cat(cases["layer norm"].call()), F.layer_norm(x, (N,), held["scale"], held["shift"])
    )
    assert x.shape == (N, N)


def test_panels_add_up_to_the_product():
    a, b = torch.randn(64, 64, dtype=torch.float64), torch.randn(64, 64, dtype=torch.float64)
    c = torch.zeros(64, 64, dtype=torch.float64)
    for i in range(0, 64, 16):
        c.addmm_(a[:, i : i + 16], b[i : i + 16])
    torch.testing.assert_close(c, a @ b)
    assert sum(panel_work(64, 16, 8).flops for _ in range(4)) == 2 * 64**3


# the machine's roof ----------------------------------------------------------------------------------------------------------
def test_a_gemm_counts_two_flops_for_each_multiply_add():
    rate = gemm_rate(96, seconds=1e-3)
    assert rate.flops == 2 * 96**3 / rate.seconds and (rate.n, rate.dtype, rate.device) == (96, "float32", "cpu")
    assert "96 x 96 in float32 on cpu" in str(rate)


def test_a_timed_gemm_writes_every_time_where_it_wrote_before(monkeypatch):
    outs, mm = [], torch.mm
    monkeypatch.setattr(torch, "mm", lambda a, b, out=None: (outs.append(out), mm(a, b, out=out))[1])
    gemm_rate(8, seconds=1e-3)
    assert len(outs) > 1 and outs[0] is not None and all(out is outs[0] for out in outs)


def test_a_roof_counts_both_ways_and_says_so():
    roof = machine_roof(seconds=0.05)
    assert isinstance(roof, Roof) and isinstance(roof.bandwidth, Bandwidth)
    assert (roof.bandwidth.direction, roof.bandwidth.kind) == ("both ways", "measured")
    assert roof.ridge == roof.flops / roof.rate > 0 and roof.name == "this CPU, 1 thread, float32"


def test_rows_go_into_a_recorded_run(rows):
    told = _plain({"rows": place("gemm", n=64, roof=ROOF, seconds=1e-3)})
    assert json.loads(json.dumps(told)) == told and told["rows"][0]["op"] == "GEMM 4"
    assert set(told["rows"][0]) == set(rows["softmax"]._asdict())


def test_it_prints_a_line_each():
    lines = str(place("rows", n=64, roof=ROOF, seconds=1e-3)).splitlines()
    assert len(lines) == 3 and all("FLOP/B" in line and "% of the roof" in line for line in lines)


# the stopwatch -----------------------------------------------------------------------------------------------------------------
def test_one_thread_is_timed_by_its_own_clock_which_others_on_the_core_do_not_move():
    with threads(1):
        assert best(lambda: time.sleep(0.02), CPU, 0.01) < 0.01
    with threads(2):
        assert best(lambda: time.sleep(0.02), CPU, 0.01) >= 0.02


def test_a_call_is_warmed_up_once_and_timed_three_times_at_least():
    calls = []
    assert best(lambda: calls.append(1), CPU, 1e-9) > 0 and len(calls) == 4


def test_where_pages_show_recorded_runs_once_is_enough(monkeypatch):
    monkeypatch.setenv("BYTES_IN_MOTION", "recorded")
    calls = []
    assert best(lambda: calls.append(1), CPU, 1e-9) > 0 and len(calls) == 2


def test_torch_s_threads_are_given_back():
    before = torch.get_num_threads()
    with pytest.raises(KeyError), threads(3):
        assert torch.get_num_threads() == 3
        raise KeyError
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    "question, said",
    [
        (lambda: place("conv"), "groups are gemm, decode, rows, attention, fusion, tiling, got 'conv'"),
        (lambda: place("gemm", n=100), "a multiple of 64, got 100"),
        (lambda: place("gemm", n=0), "a multiple of 64, got 0"),
        (lambda: place("gemm", n=True), "a multiple of 64, got True"),
        (lambda: place("gemm", n=64, dtype=torch.int32, roof=ROOF), "dtype is one of .* got torch.int32"),
        (lambda: place("gemm", n=64, roof=ROOF, nthreads=0), "threads is a whole number of 1 or more, got 0"),
        (lambda: place("gemm", n=64, roof=ROOF, seconds=0), "positive, got 0"),
        (lambda: gemm_rate(0), "1 or more, got 0"),
        (lambda: gemm_rate(1.5), "1 or more, got 1.5"),
        (lambda: gemm_rate(8, torch.int8), "dtype is one of"),
        (lambda: machine_roof("mps"), "got 'mps'"),
        (lambda: at(None), "got None"),
    ],
)
def test_wrong_questions_are_refused_before_anything_runs(question, said):
    with pytest.raises(ValueError, match=said):
        question()


@pytest.mark.gpus(1)
def test_a_gpu_s_operations_lie_under_its_roof():
    roof = machine_roof("cuda", torch.bfloat16)
    rows = place(device="cuda", roof=roof)
    assert {row.group for row in rows} == set(GROUPS) and all(0 < row.share < 1.2 for row in rows if row.intensity > 1)
