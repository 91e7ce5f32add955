"""Where torch is changed at run time so that a rank's operations leave notes. Chapter: hangs."""

from .outermost import unnoted

__all__ = ["unnoted"]
