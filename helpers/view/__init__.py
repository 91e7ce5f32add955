"""What a reader sees: widgets and figures. Plain data in; never torch."""

from helpers.view.calculator import Calculator, calculator
from helpers.view.clock import Clock, clock
from helpers.view.figures import (
    Climb,
    Cost,
    Curve,
    Growth,
    Rates,
    RungMark,
    Span,
    Spot,
    Win,
    climbs,
    lanes,
    leaf_spine,
    over_ranks,
    peaks,
    plane,
    rates_against_size,
    roofline,
    routes,
    rungs,
    show,
    stages,
    time_against_size,
    two_nodes,
    two_trees,
    waits_for,
    winners,
)
from helpers.view.memory import Memory, memory
from helpers.view.occupancy import OccupancyWidget, explore_occupancy
from helpers.view.player import Player, player
from helpers.view.playground import Playground, playground
from helpers.view.primitive import PrimitiveWidget, primitive
from helpers.view.segments import SegmentsWidget, segments
from helpers.view.shared.keep import keep
from helpers.view.warp import WarpWidget, explore_warp
from helpers.view.watch import Watch, watch

__all__ = [
    "Calculator",
    "Climb",
    "Clock",
    "Cost",
    "Curve",
    "Growth",
    "Memory",
    "OccupancyWidget",
    "Player",
    "Playground",
    "PrimitiveWidget",
    "Rates",
    "RungMark",
    "SegmentsWidget",
    "Span",
    "Spot",
    "WarpWidget",
    "Watch",
    "Win",
    "calculator",
    "climbs",
    "clock",
    "explore_occupancy",
    "explore_warp",
    "keep",
    "lanes",
    "leaf_spine",
    "memory",
    "over_ranks",
    "peaks",
    "plane",
    "player",
    "playground",
    "primitive",
    "rates_against_size",
    "roofline",
    "routes",
    "rungs",
    "segments",
    "show",
    "stages",
    "time_against_size",
    "two_nodes",
    "two_trees",
    "waits_for",
    "watch",
    "winners",
]
