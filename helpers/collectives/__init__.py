"""What moves: promises, schedules, their algebra, proof and price. numpy only."""

from .algorithms import CATALOGUE
from .lower import Message, lower
from .outcomes import OPS, origins, outcome
from .price import Price, crossover, price
from .primitives import PRIMITIVES, Primitive, primitive
from .promises import PROMISES, Promise, owner, promise
from .schedule import Schedule, ScheduleError, Transfer, beside
from .simulate import check, contributions, simulate
from .topology import Neighbours, Nodes

__all__ = [
    "CATALOGUE",
    "OPS",
    "PRIMITIVES",
    "PROMISES",
    "Message",
    "Neighbours",
    "Nodes",
    "Price",
    "Primitive",
    "Promise",
    "Schedule",
    "ScheduleError",
    "Transfer",
    "beside",
    "check",
    "contributions",
    "crossover",
    "lower",
    "origins",
    "outcome",
    "owner",
    "price",
    "primitive",
    "promise",
    "simulate",
]
