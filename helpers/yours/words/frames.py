"""Which line of a traceback asked for memory, and what such a line is known to need. Chapter: yours."""

from __future__ import annotations

import re
from typing import NamedTuple

from helpers.yours.words.said import rank_at

_FRAME = re.compile(r'File "([^"\n]{1,400})", line (\d{1,7}), in ([\w<>.]{1,100})')
_BEFORE = 12_000  # letters of a traceback that are looked at
_OTHERS = re.compile(r"site-packages|dist-packages|/lib/python|<frozen|ipykernel_launcher")
_KNOWN = tuple(  # by file and function of the innermost frames, the first that fits
    (re.compile(pattern), what)
    for pattern, what in (
        (r"/torch/optim/|_init_group$", "the optimizer makes its state in the first step, so it comes on top of a forward that had room"),
        (r"cross_entropy|log_softmax|nll_loss|lm_head|logits|float$", "logits: tokens times vocabulary, often once more in fp32"),
        (r"scaled_dot_product|softmax|attention|attn|bmm$", "attention's scores, where they are kept: heads times the sequence squared"),
        (r"autograd|backward", "backward: gradients arise while the activations are still there"),
        (r"fsdp|unshard|all_gather|_reduce_scatter", "a layer gathered whole, beside the shards"),
        (r"load_state_dict|from_pretrained|safetensors|/serialization", "the weights are being loaded: the model, or two copies of it"),
        (r" (?:to|cuda|convert|_apply)$", "the module is being moved to the GPU: the weights themselves"),
    )
)  # fmt: skip


class Frame(NamedTuple):
    """path, line and function of one entry of a traceback."""

    path: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"line {self.line} of {self.path.replace(chr(92), '/').rpartition('/')[2]}, in {self.function}"


def asked_by(paste: str, at: int, rank: int | None) -> tuple[Frame | None, str]:
    """The reader's own innermost frame of the traceback that ends at `at`, else torch's, and what it is known to need, "" for neither."""
    begin = max(0, at - _BEFORE, paste.rfind("Traceback (most recent call last)", 0, at))
    found = [
        Frame(one[1], int(one[2]), one[3])
        for one in _FRAME.finditer(paste, begin, at)
        if rank_at(paste, one.start()) == rank
    ]
    own = next((one for one in reversed(found) if not _OTHERS.search(one.path)), found[-1] if found else None)
    inner = [f"{one.path} {one.function}" for one in reversed(found[-6:])]
    return own, next((what for name in inner for pattern, what in _KNOWN if pattern.search(name)), "")
