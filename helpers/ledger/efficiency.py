"""The share of a GPU's peak that products reach in a training step: one number for each kind of chip. Chapter: meshes.

It is fitted (`helpers.ledger.published.fit`) so that runs published for one node of eight agree on average, and holds for every row of
the ledger: what kernels, small operations between products, and the host cost together. It is not chosen by row.
"""

from __future__ import annotations

from helpers.facts import ACCELERATORS, FACTS

LIKE = {"9.0": "H100", "8.0": "A100"}  # by compute capability: an H200 computes as an H100, at the same clock


def chip(name: str) -> str:
    """The accelerator whose runs an accelerator's efficiency comes from. ValueError where nobody's runs are known here."""
    capability = ACCELERATORS[name].capability if name in ACCELERATORS else None
    if capability not in LIKE:
        raise ValueError(
            f"an efficiency is known for {' and '.join(LIKE.values())} and chips like these, not for {name}: give one"
        )
    return LIKE[capability]


def efficiency_of(name: str) -> float:
    """Of the datasheet's dense bf16 peak."""
    return FACTS[f"{chip(name)}.training"].number
