"""Attention to keys that come in parts: two parts made one, and a ring that brings them, between ranks or on paper. Chapter: context."""

from . import blocks, ring

__all__ = ["blocks", "ring"]
