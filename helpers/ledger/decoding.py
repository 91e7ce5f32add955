"""What serving moves: one token at a time, each with the sums of every layer cut among tensor ranks. Chapters: context, tensor-parallel.

Training sums the activations of thousands of tokens at once, decoding those of one token a request. The calls are as many in a layer's
forward, two, and each has batch x hidden numbers: a few hundred KiB at most. So their bytes cost nothing and their number costs all. What a
GPU does meanwhile is read: every token wants its part of all weights, and of the keys and values of its own context.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from helpers.facts import ACCELERATORS, MACHINES, Machine, Model
from helpers.ledger.layers import PER_BLOCK
from helpers.ledger.places import place
from helpers.ledger.traffic import Traffic
from helpers.memory.closed_form import FormError, kv_cache
from helpers.memory.closed_form.activations import known
from helpers.memory.closed_form.terms import whole
from helpers.units import seconds_text


def decode_bytes(model: Model, batch: int = 1, dtype_bytes: int = 2) -> int:
    """Of one sum: a token of each request."""
    return batch * model.hidden * dtype_bytes


@dataclass(frozen=True)
class Decoding:
    """One step of decoding: a token more for each of `batch` requests, on `sums.nranks` tensor ranks of one machine.

    sums: all of the step; weights, cache: bytes that one GPU reads.
    """

    model: Model
    machine: Machine
    batch: int
    seq: int
    sums: Traffic
    weights: int
    cache: int

    @property
    def reads(self) -> float:
        """Seconds: the bytes of both at the bandwidth of the datasheet, which no kernel reaches."""
        memory = ACCELERATORS[self.machine.accelerator].hbm.bandwidth.value
        return (self.weights + self.cache) / memory

    @property
    def latency(self) -> float:
        """The share of the sums' price that is there without any byte; 0 of one rank, which sums with nobody."""
        if self.sums.nranks == 1:
            return 0.0
        bare = replace(self.sums, nbytes=self.sums.nranks)  # a byte a rank, by the same protocol of the wire
        return bare.priced / self.sums.priced

    @property
    def waits(self) -> float:
        """Seconds of all sums by NCCL's own model; 0 of one rank."""
        return self.sums.seconds if self.sums.nranks > 1 else 0.0

    def __str__(self) -> str:
        return (
            f"{self.model.name}, {self.batch} requests of {self.seq:,} tokens on {self.sums.nranks} {self.machine.accelerator}: "
            f"{self.sums.times} sums of {self.sums.nbytes:,} B take {seconds_text(self.waits)} by NCCL's model, "
            f"{seconds_text(self.sums.priced)} by price; reading takes {seconds_text(self.reads)}"
        )


def decoding(
    model: Model | str,
    tensor: int = 8,
    batch: int = 1,
    seq: int | None = None,
    machine: Machine | str = "HGX-H100",
    dtype_bytes: int = 2,
) -> Decoding:
    """seq: tokens of each request so far, the model's context unless told.

    ValueError for a machine that is not known or has fewer GPUs in a node; FormError for heads that the ranks do not share.
    """
    model = known(model)
    whole(tensor=tensor, batch=batch, dtype_bytes=dtype_bytes)
    found = _machine(machine, tensor)
    seq = model.context if seq is None else seq
    if model.experts or model.latent:
        raise ValueError(f"decoding is priced for dense models with heads of keys and values, got {model.name}")
    if model.heads % tensor or model.kv_heads % tensor:
        raise FormError(
            f"tensor={tensor} ranks cannot share heads={model.heads}, kv_heads={model.kv_heads} of {model.name} evenly"
        )
    sums = Traffic(
        "sums of a token",
        "tensor",
        "all_reduce",
        decode_bytes(model, batch, dtype_bytes),
        PER_BLOCK * model.layers,
        place(found, tensor, 1),
    )
    cache = kv_cache(model, batch, seq, dtype_bytes, tensor).nbytes
    return Decoding(model, found, batch, seq, sums, _read(model) * dtype_bytes // tensor, cache)


def _read(model: Model) -> int:
    """Parameters that a token goes through: all but the embedding's table, of which it reads a row."""
    return model.nparams - (0 if model.tied else model.vocab * model.hidden)


def _machine(machine: Machine | str, tensor: int) -> Machine:
    if not isinstance(machine, Machine) and machine not in MACHINES:
        raise ValueError(f"a machine is one of {', '.join(MACHINES)}, got {machine!r}")
    found = MACHINES[machine] if isinstance(machine, str) else machine
    if tensor > found.domain:
        raise ValueError(
            f"tensor ranks stay inside a node: {found.title} has {found.domain} GPUs in each, got {tensor}"
        )
    return found
