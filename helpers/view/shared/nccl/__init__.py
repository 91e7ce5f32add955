"""NCCL's choice in the page: what its model knows, handed over; `predict.mjs` computes with it what helpers.nccl.predict does."""

from helpers.view.shared.nccl.known import known

__all__ = ["known"]
