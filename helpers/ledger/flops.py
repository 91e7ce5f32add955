"""How many FLOPs a training step has, by formula: what the model asks for, and what the hardware does. Chapters: sharded, meshes.

    flops(MODELS["Llama-3-8B"], tokens=8192, seq=8192, checkpoint="full, early stop")
    SETUPS["70B"].flops("full").hardware / (64 * SETUPS["70B"].peak)      # seconds of a step at the datasheet's rate

The one definition of a step's arithmetic in this course. A multiply-add is two. Matrix products alone are counted, as in every published
MFU: norms, activations and the optimizer's update are not. The embedding is looked up, not multiplied, and a head is multiplied even
where it is the embedding's table, so N of "6 N" is here the parameters that are multiplied, N'. Backward has two products for each of
forward's: 6 N' a token, and 12 s for each layer and number in its heads. Half of the latter, but for the diagonal, with `pairs="causal"`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from helpers.facts import Model

# Which scores count. "all": a query with every key of its sequence, as PaLM, torchtitan, llm-foundry and FlopCounterMode count, and
# Megatron-LM up to core_v0.11.0. "causal": with those up to its own, which is all that a causal model needs; Megatron-LM halves so from
# core_v0.12.0 (May 2025; commit 8873b55d6, megatron/training/training.py), and MFUs published with it since.
PAIRS = ("all", "causal")
# What a way to spare activations computes a second time: shares of the blocks' products and of the scores. The first three are those
# of helpers.memory.closed_form, "full" as Megatron-LM has it and torch's reentrant checkpoint: every product. torch.utils.checkpoint
# stops by default (early_stop, from 2.1 on) with the last tensor that backward asks for, and so before the last product of a block, whose
# result nothing keeps; where a dropout or a norm comes after it, or a router weighs it, it is computed. The last two are torchtitan's
# selective ones: every second layer, or every second product and no scores.
EARLY = "full, early stop"
AGAIN = {
    "none": (0.0, 0.0),
    "selective": (0.0, 1.0),
    "full": (1.0, 1.0),
    EARLY: (1.0, 1.0),
    "layers by turns": (0.5, 0.5),
    "products by turns": (0.5, 0.0),
}


@dataclass(frozen=True)
class Flops:
    """Of a forward: the blocks' products with their matrices, the scores (Q K^T and P V), and the head's product.

    checkpoint: a key of AGAIN; pairs: one of PAIRS. last: of `blocks`, the product that ends each, where nothing keeps its result.
    """

    blocks: float
    scores: float
    head: float
    checkpoint: str = "none"
    pairs: str = "all"
    last: float = 0.0

    @property
    def forward(self) -> float:
        return self.blocks + self.scores + self.head

    @property
    def backward(self) -> float:
        """Two products for each of forward's, without what is computed a second time."""
        return 2 * self.forward

    @property
    def attention(self) -> float:
        """The scores' share of what the model needs."""
        return self.scores / self.forward

    @property
    def model(self) -> float:
        """What forward and backward need, whoever computes them: the FLOPs of MFU."""
        return self.forward + self.backward

    @property
    def again(self) -> float:
        """What checkpointing computes a second time."""
        blocks, scores = AGAIN[self.checkpoint]
        return blocks * self.blocks + scores * self.scores - self.last * (self.checkpoint == EARLY)

    @property
    def whole(self) -> bool:
        """Are whole blocks computed a second time? Then so are their collectives."""
        return all(AGAIN[self.checkpoint])

    @property
    def hardware(self) -> float:
        """What is computed: the FLOPs of HFU."""
        return self.model + self.again

    def of(self, share: float) -> Flops:
        """A share of it, as of one rank."""
        parts = {name: share * getattr(self, name) for name in ("blocks", "scores", "head", "last")}
        return replace(self, **parts)


def flops(model: Model, tokens: float, seq: int | None = None, checkpoint: str = "none", pairs: str = "all") -> Flops:
    """A step of `tokens`, in sequences of `seq` (the model's context unless told). checkpoint: a key of AGAIN; pairs: one of PAIRS.

    Experts: those that a token visits. Latent attention: as it is trained, with keys and values unpacked.
    ValueError for a window shorter than the sequence, and unknown names.
    """
    seq = model.context if seq is None else seq
    if checkpoint not in AGAIN or pairs not in PAIRS:
        raise ValueError(
            f"checkpoint is one of {', '.join(AGAIN)} and pairs one of {', '.join(PAIRS)}, got {checkpoint!r} and {pairs!r}"
        )
    if model.window and seq > model.window:
        raise ValueError(f"{model.name}: windows are not counted here")
    seen = seq if pairs == "all" else (seq + 1) / 2  # keys that a query meets, on average
    scores = 2 * seen * model.layers * model.heads * _widths(model)
    head = 2 * tokens * model.vocab * model.hidden
    dense = model.dense * model.dense_ffn if model.experts else model.layers * model.ffn
    return Flops(
        2 * tokens * _matrices(model), tokens * scores, head, checkpoint, pairs, 2 * tokens * dense * model.hidden
    )


def _widths(model: Model) -> int:
    """Numbers of a head's key, and of its value."""
    latent = model.latent
    return latent.nope + latent.rope + latent.value if latent else 2 * model.head_dim


def _matrices(model: Model) -> int:
    """Parameters of all blocks that a token is multiplied with: no norms, no biases, the experts that it visits."""
    latent = model.latent
    norms = latent.query_rank + latent.rank if latent else 0
    wide = model.heads * model.head_dim
    attention = model.attention_nparams - norms if latent else model.hidden * 2 * (wide + model.kv_hidden)
    each = (3 if model.mlp == "swiglu" else 2) * model.hidden
    sparse = each * model.ffn * (model.active + model.shared) + model.hidden * model.experts
    mlps = model.dense * each * model.dense_ffn + (model.layers - model.dense) * (
        sparse if model.experts else each * model.ffn
    )
    return model.layers * attention + mlps
