"""The network interface over which everything between the ranks of one machine goes. Chapters: setup, ranks."""

from __future__ import annotations

import socket


def loopback() -> str:
    """The name of the loopback interface: everything between ranks of one machine goes over it, and only over it."""
    return next((name for _, name in socket.if_nameindex() if name in ("lo", "lo0")), "lo")
