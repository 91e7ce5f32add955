"""What a reader sees: widgets and figures. Plain data in; never torch."""

from helpers.view.calculator import Calculator, calculator
from helpers.view.choices import Cost, Growth, Win, over_ranks, plane, winners
from helpers.view.figures import Curve, time_against_size
from helpers.view.keep import keep
from helpers.view.ladder_figure import Climb, RungMark, climbs, rungs
from helpers.view.lanes import Span, lanes
from helpers.view.memory import Memory, memory
from helpers.view.nodes_figure import two_nodes
from helpers.view.occupancy import OccupancyWidget, explore_occupancy
from helpers.view.peaks_figure import peaks
from helpers.view.player import Player, player
from helpers.view.playground import Playground, playground
from helpers.view.primitive import PrimitiveWidget, primitive
from helpers.view.roofline_figure import Spot, roofline
from helpers.view.segments import SegmentsWidget, segments
from helpers.view.show import show
from helpers.view.stages import stages
from helpers.view.tree_figure import two_trees
from helpers.view.waits import waits_for
from helpers.view.warp import WarpWidget, explore_warp
from helpers.view.watch import Watch, watch

__all__ = [
    "Calculator",
    "Climb",
    "Cost",
    "Curve",
    "Growth",
    "Memory",
    "OccupancyWidget",
    "Player",
    "Playground",
    "PrimitiveWidget",
    "RungMark",
    "SegmentsWidget",
    "Span",
    "Spot",
    "WarpWidget",
    "Watch",
    "Win",
    "calculator",
    "climbs",
    "explore_occupancy",
    "explore_warp",
    "keep",
    "lanes",
    "memory",
    "over_ranks",
    "peaks",
    "plane",
    "player",
    "playground",
    "primitive",
    "roofline",
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
