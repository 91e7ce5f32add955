"""How a training step is shared out among ranks, as plain data: closed forms and predictions take the same. Chapter: too-big."""

from __future__ import annotations

from dataclasses import dataclass, replace

from helpers.context import FORMS, ORDERS
from helpers.context.chunks import check as check_order
from helpers.facts import Model


class ShardingError(ValueError):
    """A way to share out that cannot be: the message names the value and what was expected."""


@dataclass(frozen=True)
class Sharding:
    """One rank of data * context * tensor * pipeline ranks.

    data: ranks with other batches. zero: 0 (DDP where data > 1), 1, 2 or 3. tensor: ranks that share every layer (heads, MLP columns,
    vocabulary); sequence: they share the tokens of norms, dropout and residuals, too. pipeline: ranks behind each other; stage: which of
    them this is; virtual: how many parts of the model each of them has, far from each other (interleaved 1F1B); micro_batches: per step.
    expert: among how many of the data ranks the experts are spread. context: ranks that share the tokens of every sequence; for states
    they are data ranks; place: which of them this is; form: how they attend, one of FORMS; order: who has which tokens, one of ORDERS
    ("heads" keeps the plain one). team: among how many data ranks ZeRO-3 shares one replica out (HSDP), all unless told.
    ShardingError for counts that are not positive, or that contradict each other.
    """

    data: int = 1
    zero: int = 0
    tensor: int = 1
    sequence: bool = False
    pipeline: int = 1
    stage: int = 0
    virtual: int = 1
    micro_batches: int = 1
    expert: int = 1
    context: int = 1
    place: int = 0
    form: str = "ring"
    order: str = "zigzag"
    team: int | None = None

    def __post_init__(self) -> None:
        for name in ("data", "tensor", "pipeline", "virtual", "micro_batches", "expert", "context", "team"):
            value = getattr(self, name)
            if name == "team" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ShardingError(f"{name} is a whole number of at least 1, got {value!r}")
        if isinstance(self.zero, bool) or self.zero not in (0, 1, 2, 3):
            raise ShardingError(f"zero is 0, 1, 2 or 3, got {self.zero!r}")
        for name, known in (("form", FORMS), ("order", ORDERS)):
            if getattr(self, name) not in known:
                raise ShardingError(f"{name} is one of {', '.join(known)}, got {getattr(self, name)!r}")
        if self.place not in range(self.context):
            raise ShardingError(
                f"place is one of 0 to {self.context - 1} of context={self.context}, got {self.place!r}"
            )
        if not isinstance(self.sequence, bool):
            raise ShardingError(f"sequence is True or False, got {self.sequence!r}")
        if self.stage not in range(self.pipeline):
            raise ShardingError(
                f"stage is one of 0 to {self.pipeline - 1} of pipeline={self.pipeline}, got {self.stage!r}"
            )
        for said, broken in self._contradictions().items():
            if broken:
                raise ShardingError(said)

    def _contradictions(self) -> dict[str, bool]:
        data, zero, expert, context, team = self.data, self.zero, self.expert, self.context, self.team
        ranks, virtual, m = self.pipeline, self.virtual, self.micro_batches
        return {
            f"virtual={virtual} parts of a rank interleave in a pipeline, so pipeline must be at least 2": virtual > 1
            and ranks == 1,
            f"virtual={virtual} parts take micro-batches by pipeline={ranks}, so it must divide micro_batches={m}": (
                virtual > 1 and m % ranks > 0
            ),
            f"zero={zero} splits among data ranks, so data must be at least 2": zero > 0 and self.data_ranks == 1,
            "sequence=True shares tokens among tensor ranks, so tensor must be at least 2": self.sequence
            and self.tensor == 1,
            f"expert={expert} spreads experts over data ranks, so it must divide data={data}": data % expert > 0,
            f"expert={expert} with context={context} is not written": expert > 1 and context > 1,
            f"expert={expert} with team={team} is not written": expert > 1 and team is not None,
            f"team={team} shares a replica out as ZeRO-3 does, and zero={zero}": team is not None and zero != 3,
            f"team={team} ranks share a replica out, so it is at least 2 and divides the {self.data_ranks} data ranks": (
                team is not None and (team == 1 or self.data_ranks % team > 0)
            ),
        }

    @property
    def nranks(self) -> int:
        """All ranks of the job."""
        return self.data_ranks * self.tensor * self.pipeline

    @property
    def data_ranks(self) -> int:
        """Ranks with the same parameters: what one of them finds for a gradient is a term of a sum over all."""
        return self.data * self.context

    @property
    def shards(self) -> int:
        """Of these, among how many a replica's states are shared out; 1 without ZeRO."""
        if not self.zero:
            return 1
        return self.data_ranks if self.team is None else self.team

    @property
    def replicas(self) -> int:
        """How many replicas there are, whole or shared out."""
        return self.data_ranks // self.shards

    @property
    def parts(self) -> tuple[Sharding, ...]:
        """Of a rank with `virtual` parts each of them, as a stage of a pipeline that is so many times as long."""
        long = self.pipeline * self.virtual
        stages = range(self.stage, long, self.pipeline)
        return tuple(replace(self, pipeline=long, stage=stage, virtual=1) for stage in stages)

    @property
    def first(self) -> bool:
        """Is this the stage with the embedding?"""
        return self.stage == 0

    @property
    def last(self) -> bool:
        """Is this the stage with the head and the loss?"""
        return self.stage == self.pipeline - 1

    @property
    def in_flight(self) -> int:
        """The most micro-batches whose activations this stage of a 1F1B pipeline holds at once."""
        return min(self.pipeline - self.stage, self.micro_batches)

    def layers(self, model: Model) -> range:
        """The model's layers that stand on this stage; `check` says whether the stages share them evenly.

        ShardingError where they are several ranges.
        """
        if self.virtual > 1:
            raise ShardingError(
                f"a rank with virtual={self.virtual} parts has as many ranges of layers: ask each of parts"
            )
        each = model.layers // self.pipeline
        return range(self.stage * each, (self.stage + 1) * each)

    def closed(self) -> None:
        """ShardingError for what no closed form and no line of the ledger has, and only a prediction knows."""
        if self.expert > 1 and self.zero:
            raise ShardingError(f"no closed form has expert={self.expert} with zero={self.zero}: ask predict_step")
        if self.virtual > 1:
            raise ShardingError(f"no closed form has virtual={self.virtual} parts of a rank: ask predict_step")

    def check(self, model: Model, seq: int) -> None:
        """ShardingError naming what of this model the ranks cannot share evenly."""
        pairs = [("tensor", name, getattr(model, name)) for name in ("heads", "kv_heads", "ffn")]
        pairs += [("context", "seq", seq)]
        pairs += [("tensor", "seq", seq // self.context)] if self.sequence else []
        pairs += [("pipeline", "layers", model.layers // self.virtual)]
        if model.layers % self.virtual:
            raise ShardingError(
                f"virtual={self.virtual} parts cannot share layers={model.layers} of {model.name} evenly"
            )
        for way, name, value in pairs:
            if value % getattr(self, way):
                raise ShardingError(
                    f"{way}={getattr(self, way)} ranks cannot share {name}={value} of {model.name} evenly"
                )
        if self.expert > 1 and (not model.experts or model.experts % self.expert):
            raise ShardingError(
                f"expert={self.expert} ranks cannot share experts={model.experts} of {model.name} evenly"
            )

    def check_context(self, model: Model, seq: int) -> None:
        """ShardingError unless each context rank can have its piece of a sequence, or its two, and by heads its heads."""
        if self.context == 1:
            return
        try:
            check_order("plain" if self.form == "heads" else self.order, seq, self.context)
        except ValueError as uneven:
            raise ShardingError(str(uneven)) from None
        for name in ("heads", "kv_heads") if self.form == "heads" else ():
            if getattr(model, name) // self.tensor % self.context:
                there = getattr(model, name)
                raise ShardingError(
                    f"context={self.context} ranks of tensor={self.tensor} cannot share {name}={there} of {model.name} evenly"
                )

    def __str__(self) -> str:
        """What differs from a single rank: "8 data, ZeRO-3" or "stage 0 of 4, tensor 8"."""
        words = [f"{self.data} data"] if self.data > 1 else []
        words += [f"ZeRO-{self.zero}" + (f" in teams of {self.team}" if self.team else "")] if self.zero else []
        words += [f"context {self.context}"] if self.context > 1 else []
        words += [f"tensor {self.tensor}" + (" with sequence" if self.sequence else "")] if self.tensor > 1 else []
        words += [f"stage {self.stage} of {self.pipeline}"] if self.pipeline > 1 else []
        words += [f"{self.virtual} parts"] if self.virtual > 1 else []
        words += [f"{self.micro_batches} micro-batches"] if self.micro_batches > 1 else []
        words += [f"experts over {self.expert}"] if self.expert > 1 else []
        return ", ".join(words) or "a single rank"


ALONE = Sharding()
