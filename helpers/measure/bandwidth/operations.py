"""Real operations with their count of work: what `place` measures, and what fusion and tiling change. Chapters: roofline,
memory-hierarchy.

Results are written where memory is already. On the CPU a fresh result of 64 MiB is fresh pages from the system, and asking for those
takes longer than filling them: softmax would seem a third as fast. Only layer norm cannot be told where to write; it goes in parts,
each small enough that malloc hands the last one's memory out again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F

from helpers.memory.roofline import Pass, Work, attention, elementwise, gemm, gemv, layer_norm, softmax

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
PANELS = (1, 4, 16, 64, 256)
DEGREE = 6
TILE = {"cpu": 256 << 10, "cuda": 8 << 20}  # bytes of one tensor's tile, so that two of them fit into the L2
FRESH = 24 << 20  # bytes of a fresh result that glibc's malloc keeps for the next: it gives back 32 MiB and more
HEADS, DIM = 4, 64


class Case(NamedTuple):
    """One operation. group: what it is compared within; work: counted; call: does it once."""

    op: str
    group: str
    work: Work
    call: Callable[[], object]


class On(NamedTuple):
    """Where and in what: n is the side of a square matrix too large for any cache."""

    device: torch.device
    dtype: torch.dtype
    n: int

    def random(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, device=self.device).to(self.dtype)

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize


def gemms(on: On) -> Iterator[Case]:
    """Square matrix products of growing size."""
    for n in (on.n // 16, on.n // 4):
        a, b, c = (on.random(n, n) for _ in range(3))
        yield Case(f"GEMM {n}", "gemm", gemm(n, n, n, on.nbytes), lambda a=a, b=b, c=c: torch.mm(a, b, out=c))


def decoding(on: On) -> Iterator[Case]:
    """A linear layer with one token of each of `batch` requests: the weight crosses memory once for all of them."""
    weight = on.random(on.n, on.n)
    for batch in BATCHES:
        x, y = on.random(batch, on.n), on.random(batch, on.n)
        work = gemv(batch, on.n, on.n, on.nbytes)
        yield Case(f"decode, batch {batch}", "decode", work, lambda x=x, y=y: torch.mm(x, weight.t(), out=y))


def rows(on: On) -> Iterator[Case]:
    """Softmax, layer norm and a residual add over a matrix of n rows."""
    x, y, scale, shift = on.random(on.n, on.n), on.random(on.n, on.n), on.random(on.n), on.random(on.n)
    parts, width = x.split(max(1, FRESH // (on.n * on.nbytes)) if on.device.type == "cpu" else on.n), (on.n,)
    add = elementwise(on.n * on.n, on.nbytes, inputs=2, name="residual add")
    norm = layer_norm(on.n, on.n, on.nbytes)
    yield Case("softmax", "rows", softmax(on.n, on.n, on.nbytes), lambda: torch.softmax(x, -1, out=y))
    yield Case("layer norm", "rows", norm, lambda: [F.layer_norm(part, width, scale, shift) for part in parts])
    yield Case("residual add", "rows", add, lambda: x.add_(y))


def attentions(on: On) -> Iterator[Case]:
    """Attention with its scores in memory, and as torch's fused kernel."""
    seq = on.n // 2
    q, k, v, o = (on.random(HEADS, seq, DIM) for _ in range(4))
    s, p = on.random(HEADS, seq, seq), on.random(HEADS, seq, seq)

    def naive() -> None:
        s.baddbmm_(q, k.transpose(1, 2), beta=0, alpha=DIM**-0.5)
        torch.softmax(s, -1, out=p)
        torch.bmm(p, v, out=o)

    shape = (1, HEADS, seq, DIM, on.nbytes)
    yield Case("attention, naive", "attention", attention(*shape), naive)
    batched = [t[None] for t in (q, k, v)]
    fused = attention(*shape, fused=True)
    yield Case("attention, fused", "attention", fused, lambda: F.scaled_dot_product_attention(*batched))


def fusion(on: On) -> Iterator[Case]:
    """A polynomial kernel by kernel and tile by tile, GELU as its formula and as one kernel: equal FLOPs, fewer trips to memory."""
    x, y, u = (on.random(on.n * on.n) for _ in range(3))
    spare = TILE[on.device.type] // on.nbytes
    tiles = list(zip(x.split(spare), y.split(spare), strict=True))
    whole, formula = horner_work(x.numel(), on.nbytes), gelu_work(x.numel(), on.nbytes)
    tiled, once = whole.fused("polynomial, tile by tile"), formula.fused("GELU, one kernel")
    yield Case("polynomial, kernel by kernel", "fusion", whole, lambda: horner(x, y))
    yield Case("polynomial, tile by tile", "fusion", tiled, lambda: [horner(*tile) for tile in tiles])
    yield Case("GELU, nine kernels", "fusion", formula, lambda: gelu_formula(x, u, y))
    yield Case("GELU, one kernel", "fusion", once, lambda: torch.ops.aten.gelu.out(x, approximate="tanh", out=y))


def horner(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """y = 1/2 (1 + x + ... + x^6), by Horner's rule, a kernel for each of its twelve operations."""
    torch.mul(x, 0.5, out=y).add_(0.5)
    for _ in range(DEGREE - 1):
        y.mul_(x).add_(0.5)
    return y


def horner_work(numel: int, nbytes: float) -> Work:
    """The passes of horner: every product but the first reads x beside y."""
    scale, shift = elementwise(numel, nbytes, name="scale"), elementwise(numel, nbytes, name="shift")
    times_x = elementwise(numel, nbytes, inputs=2, name="times x")
    work, y = scale.then(shift, x0="y"), "y'"
    for _ in range(DEGREE - 1):
        work = work.then(times_x, x0=y, x1="x0").then(shift, x0=y + "'")
        y += "''"
    return Work("polynomial, kernel by kernel", work.passes)


def gelu_formula(x: torch.Tensor, u: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), one kernel for each of nine operations; u is scratch."""
    torch.mul(x, x, out=u)
    u.mul_(x).mul_(0.044715).add_(x).mul_(math.sqrt(2 / math.pi)).tanh_().add_(1).mul_(x)
    return torch.mul(u, 0.5, out=y)


def gelu_work(numel: int, nbytes: float) -> Work:
    """The nine passes of gelu_formula; three of them read x beside u."""
    size = numel * nbytes
    steps = ("x*x", "*x", "*c", "+x", "*c", "tanh", "+1", "*x", "/2")
    passes, last = [], "x"
    for i, step in enumerate(steps):
        made = "y" if i == len(steps) - 1 else f"u{i}"
        reads = {last: size} | ({"x": size} if step.endswith("x") else {})
        passes.append(Pass(step, numel, reads, {made: size}, "1 an element"))
        last = made
    return Work("GELU, nine kernels", tuple(passes))


def tiling(on: On) -> Iterator[Case]:
    """A matrix product by panels, C += A[:, panel] B[panel, :]: the wider the panel, the less often C crosses memory."""
    c = on.random(on.n, on.n)
    for width in PANELS:
        a, b = on.random(on.n, width), on.random(width, on.n)
        work = panel_work(on.n, width, on.nbytes)
        yield Case(f"C += AB, {width} wide", "tiling", work, lambda a=a, b=b: c.addmm_(a, b))


def panel_work(n: int, width: int, nbytes: float) -> Work:
    """One panel's share of an n x n product: C is read, added to, and written."""
    reads = {"A": n * width * nbytes, "B": n * width * nbytes, "C": n * n * nbytes}
    one = Pass("panel", 2 * n * n * width, reads, {"C": n * n * nbytes}, "2 n n w")
    return Work(f"C += AB, {width} wide", (one,))


GROUPS: dict[str, Callable[[On], Iterator[Case]]] = {
    "gemm": gemms,
    "decode": decoding,
    "rows": rows,
    "attention": attentions,
    "fusion": fusion,
    "tiling": tiling,
}
