"""What moves: promises, schedules, their algebra, proof and price. numpy only."""

from .algorithms import CATALOGUE
from .lower import Message, lower
from .price import Price, crossover, price
from .promises import PROMISES, Promise, owner, promise
from .schedule import Schedule, ScheduleError, Transfer
from .simulate import check, contributions, simulate

__all__ = [
    "CATALOGUE",
    "PROMISES",
    "Message",
    "Price",
    "Promise",
    "Schedule",
    "ScheduleError",
    "Transfer",
    "check",
    "contributions",
    "crossover",
    "lower",
    "owner",
    "price",
    "promise",
    "simulate",
]
