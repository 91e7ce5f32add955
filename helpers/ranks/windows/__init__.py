"""One-sided communication between ranks of one machine: memory that others write into, and signals."""

from helpers.ranks.windows.counts import kernel_bytes
from helpers.ranks.windows.window import NotSignalled, Window

__all__ = ["NotSignalled", "Window", "kernel_bytes"]
