"""What moves: promises, schedules, their algebra, proof and price."""

from .about import About, about, algorithm
from .algorithms import CATALOGUE, double_tree
from .lower import host, lower
from .outcomes import OPS, origins, outcome
from .price import Price, crossover, price
from .primitives import PRIMITIVES, Primitive, find_primitive
from .profiles import Load, loads, price_loads
from .promises import PROMISES, Promise, owner, promise
from .rendezvous import Message, rendezvous
from .schedule import Schedule, beside
from .simulate import check, contributions, simulate
from .topology import Neighbours, Nodes
from .transfers import ScheduleError, Transfer

__all__ = [
    "CATALOGUE",
    "OPS",
    "PRIMITIVES",
    "PROMISES",
    "About",
    "Load",
    "Message",
    "Neighbours",
    "Nodes",
    "Price",
    "Primitive",
    "Promise",
    "Schedule",
    "ScheduleError",
    "Transfer",
    "about",
    "algorithm",
    "beside",
    "check",
    "contributions",
    "crossover",
    "double_tree",
    "find_primitive",
    "host",
    "loads",
    "lower",
    "origins",
    "outcome",
    "owner",
    "price",
    "price_loads",
    "promise",
    "rendezvous",
    "simulate",
]
