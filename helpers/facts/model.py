"""The shapes of published models, and exactly how many numbers each of them learns.

No weights: a dozen integers decide what a model's training step and its cache need.
Chapters: training-memory, too-big, roofline; the memory calculator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from helpers.facts.fact import Entry, FactError, Source

NORMS = ("layer", "rms")
MLPS = ("gelu", "swiglu")
POSITIONS = ("learned", "rotary")


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention (DeepSeek-V2): a token's keys and values are kept as one short vector.

    rank: its length; rope: the rotary key shared by all heads, kept beside it; query_rank: the queries' own compression;
    nope, value: what a head unpacks, per head (keys and queries without position, values).
    """

    rank: int
    rope: int
    query_rank: int
    nope: int
    value: int


@dataclass(frozen=True)
class Model:
    """A decoder-only transformer. Sizes are counts of numbers, not bytes. A model of your own needs seven of them:

        Model("mine", layers=24, hidden=2048, heads=16, ffn=5632, vocab=32000, context=4096)

    Unless told, every head has keys and values of its own (kv_heads), and the heads share hidden out evenly (head_dim).
    hidden: width of the residual stream; heads and kv_heads of head_dim each; ffn: width inside an MLP (of one expert where there are
    experts); context: longest sequence it was trained for. experts and active: routed experts of a layer and how many a token visits;
    shared: experts that every token visits; dense: first layers that have an MLP of width dense_ffn instead.
    window: how far back attention looks, None for all. tied: the output head is the embedding table.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocab: int
    context: int
    kv_heads: int = 0
    head_dim: int = 0
    norm: str = "rms"
    mlp: str = "swiglu"
    positions: str = "rotary"
    tied: bool = False
    bias: bool = False
    source: Source | None = None
    where: str = ""
    experts: int = 0
    active: int = 0
    shared: int = 0
    dense: int = 0
    dense_ffn: int = 0
    window: int | None = None
    latent: Latent | None = None

    def __post_init__(self) -> None:
        if self.kv_heads == 0:
            object.__setattr__(self, "kv_heads", self.heads)
        if self.head_dim == 0 and self._whole(self.hidden) and self._whole(self.heads):
            if self.hidden % self.heads:
                raise FactError(f"{self.name}: hidden={self.hidden} is no multiple of heads={self.heads}: say head_dim")
            object.__setattr__(self, "head_dim", self.hidden // self.heads)
        sizes = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "context")
        for part in sizes:
            value = getattr(self, part)
            if not self._whole(value):
                raise FactError(f"{self.name}: {part} is a positive whole number, got {value!r}")
        for part, known in (("norm", NORMS), ("mlp", MLPS), ("positions", POSITIONS)):
            if getattr(self, part) not in known:
                raise FactError(f"{self.name}: {part} is one of {', '.join(known)}, got {getattr(self, part)!r}")
        if self.heads % self.kv_heads:
            raise FactError(f"{self.name}: {self.heads} heads do not share {self.kv_heads} KV heads evenly")
        if not 0 <= self.active <= self.experts or bool(self.active) != bool(self.experts):
            raise FactError(f"{self.name}: a token visits 1 to {self.experts} experts, got {self.active}")

    @staticmethod
    def _whole(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 1

    @property
    def kv_hidden(self) -> int:
        """Numbers in one token's keys of one layer (its values: as many); equals hidden without grouped heads."""
        return self.kv_heads * self.head_dim

    @property
    def nparams(self) -> int:
        """Learned numbers, all of them: every expert counts."""
        return self._nparams(self.experts)

    @property
    def active_nparams(self) -> int:
        """Learned numbers without the experts that a token does not visit; equals nparams without experts."""
        return self._nparams(self.active)

    @property
    def attention_nparams(self) -> int:
        """Of one layer's attention: the projections and their biases."""
        if self.latent:
            return self._latent_nparams(self.latent)
        wide, narrow = self.heads * self.head_dim, self.kv_hidden
        biases = wide + 2 * narrow + self.hidden if self.bias else 0
        return self.hidden * (2 * wide + 2 * narrow) + biases

    def mlp_nparams(self, ffn: int | None = None) -> int:
        """Of one MLP (one expert) of width `ffn`: two matrices with GELU, three with SwiGLU."""
        ffn = ffn or self.ffn
        if self.mlp == "swiglu":
            return 3 * self.hidden * ffn
        return 2 * self.hidden * ffn + (ffn + self.hidden if self.bias else 0)

    @property
    def norm_nparams(self) -> int:
        """Of one normalisation: a scale, and a shift for layer norm."""
        return self.hidden * (2 if self.norm == "layer" else 1)

    def layer_nparams(self, experts: int | None = None, dense: bool = False) -> int:
        """Of one layer with that many routed experts (all of them unless told), or of one of the first, dense, layers."""
        around = self.attention_nparams + 2 * self.norm_nparams
        if dense:
            return around + self.mlp_nparams(self.dense_ffn)
        if not self.experts:
            return around + self.mlp_nparams()
        visited = (self.experts if experts is None else experts) + self.shared
        return around + self.experts * self.hidden + visited * self.mlp_nparams()

    def _nparams(self, experts: int) -> int:
        tables = self.vocab * self.hidden * (1 if self.tied else 2)
        learned = self.context * self.hidden if self.positions == "learned" else 0
        layers = (self.layers - self.dense) * self.layer_nparams(experts)
        layers += self.dense * self.layer_nparams(dense=True) if self.dense else 0
        return tables + learned + layers + self.norm_nparams

    def _latent_nparams(self, latent: Latent) -> int:
        """Down to the latent vectors (each normalised), up to the heads, and the way out."""
        hidden = self.hidden
        query = hidden * latent.query_rank + latent.query_rank
        query += latent.query_rank * self.heads * (latent.nope + latent.rope)
        keys = hidden * (latent.rank + latent.rope) + latent.rank
        keys += latent.rank * self.heads * (latent.nope + latent.value)
        return query + keys + self.heads * latent.value * hidden

    def __str__(self) -> str:
        active = f", {self.active_nparams / 1e9:.4g} B a token" if self.experts else ""
        return f"{self.name}: {self.layers} layers of {self.hidden}, {self.nparams / 1e9:.4g} B parameters{active}"


def build_models(table: Mapping[str, Entry], sources: Mapping[str, Source]) -> dict[str, Model]:
    """The models of a parsed models.toml by name; FactError for one that lacks a size or a known source."""
    return {name: _model(name, entry, sources) for name, entry in table.items()}


def _model(name: str, entry: Entry, sources: Mapping[str, Source]) -> Model:
    if entry.get("source") not in sources or not entry.get("where"):
        raise FactError(f"{name}: a model needs a source listed in sources.toml and where, got {entry.get('source')!r}")
    unsaid = [
        part for part in ("kv_heads", "head_dim", "norm", "mlp", "positions", "tied", "bias") if part not in entry
    ]
    if unsaid:
        raise FactError(f"{name}: a published model says all of its shape; missing: {', '.join(unsaid)}")
    latent = Latent(**entry["latent"]) if "latent" in entry else None
    try:
        return Model(**{**entry, "name": name, "source": sources[entry["source"]], "latent": latent})
    except TypeError as error:
        raise FactError(f"{name}: {error}") from None
