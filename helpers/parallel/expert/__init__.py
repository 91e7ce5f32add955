"""Expert parallel: each rank has some experts, and every token travels to those that it was routed to. Chapter: expert."""

from . import ours, uneven
from .routed import Routed
from .routing import Routing, capacity, routed

STRATEGIES = ours.STRATEGIES
__all__ = ["STRATEGIES", "Routed", "Routing", "capacity", "ours", "routed", "uneven"]
