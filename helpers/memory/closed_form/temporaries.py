"""What flickers: tensors that live for a few operators at the highest moments. No formula for activations has them; a trace does.

Chapters: training-memory, too-big.
"""

from __future__ import annotations

from helpers.facts import Model
from helpers.memory.closed_form.kept import Kept, kept
from helpers.memory.closed_form.states import PRECISIONS
from helpers.memory.closed_form.terms import Operator


def forward_temporaries(precision: str) -> tuple[Kept, ...]:
    """Cross entropy itself: the logits, and what they are in fp32 where they were not."""
    logits = kept("head", "the logits", "b s V", split="tensor", source="torch-cross-entropy")
    wide = kept("cross entropy", "the logits in fp32", "b s V", "fp32", "tensor", source="torch-cross-entropy")
    return (logits,) if precision == "fp32" else (logits, wide)


def loss_temporaries() -> tuple[Kept, ...]:
    """Backward of cross entropy: two gradients in fp32, of the log of the softmax and of the logits."""
    texts = ("the gradient of the log of the softmax", "the gradient of the logits, in fp32")
    return tuple(kept("cross entropy", text, "b s V", "fp32", "tensor", source="torch-cross-entropy") for text in texts)


def head_backward() -> tuple[Kept, ...]:
    """While the head's gradient is made."""
    return (kept("head", "the gradient of the logits", "b s V", split="tensor", source="torch-cross-entropy"),)


def mlp_backward(model: Model) -> tuple[Kept, ...]:
    """Halfway through the backward of a block's MLP: gradients of the wide tensors and of the residual stream."""
    stream = kept("residual stream", "its gradient", "b s h")
    if model.experts:
        wide = [kept("expert", f"the gradient of its {text}", "b s x f/E", split="tensor") for text in SWIGLU]
        rows = [kept("experts", f"the gradient of {text}", "b s x h") for text in ("their answers", "their input rows")]
        return (stream, *rows, *wide)
    names = SWIGLU if model.mlp == "swiglu" else GELU
    return (stream, *(kept("MLP", f"the gradient of its {text}", "b s f", split="tensor") for text in names))


SWIGLU = ("product", "up projection", "SiLU")
GELU = ("down projection's input", "GELU's input")


def freed_before(model: Model) -> tuple[Kept, ...]:
    """What of the block's own list is gone by then."""
    if not model.experts:
        return (kept("down projection", "its input, done with", "b s f", split="tensor"),)
    answers = [
        kept("combine", text, "b s x h") for text in ("the answers, done with", "the weighted answers, done with")
    ]
    wide = [kept("experts", "wide tensors of those done with", "b s x f", split="tensor")] * 4
    return (*answers, *wide)


WIDENED, ROOT, CORRECTED, BEFORE = (
    "the gradient in fp32",
    "the root of the variance",
    "the root, corrected",
    "the same of the parameter before, which Python still names",
)


def optimizer_temporaries(
    optimizer: str, precision: str, numel: int, outside: int, inside: int
) -> tuple[Operator, ...]:
    """At the optimizer's highest: copies of the type it works in. numel: elements it updates; outside, inside: Rank.largest().

    With an fp32 copy of 16-bit weights it goes a parameter at a time and widens its gradient first. Torch's own loop keeps one quotient
    longer: the matrices of an MLP follow each other and make three, a table stands between small parameters and makes two.
    foreach does all at once; a fused kernel makes nothing.
    """
    largest, width = max(outside, inside), PRECISIONS[precision]["moments"]
    widened = (WIDENED,) if precision == "bf16" else ()
    if optimizer == "adamw-fused":
        return ()
    if optimizer in ("sgd", "momentum"):
        return _copies(optimizer, widened, "largest", largest, width)
    if optimizer == "adamw-foreach":
        return _copies(optimizer, (*widened, ROOT), "P", numel, width)
    if PRECISIONS[precision]["master"]:
        return _copies(optimizer, (*widened, ROOT, CORRECTED), "largest", largest, width)
    if 3 * inside > 2 * outside:
        return _copies(optimizer, (ROOT, CORRECTED, BEFORE), "largest", inside, width)
    return _copies(optimizer, (ROOT, CORRECTED), "largest", outside, width)


def _copies(optimizer: str, texts: tuple[str, ...], symbol: str, numel: int, width: int) -> tuple[Operator, ...]:
    return tuple(Operator(optimizer, text, (symbol,), width, 1, width * numel, "torch-optim") for text in texts)
