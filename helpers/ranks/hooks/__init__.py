"""Where torch is changed at run time so that a rank's operations leave notes. Chapter: hangs."""

from .noting import unnoted

__all__ = ["unnoted"]
