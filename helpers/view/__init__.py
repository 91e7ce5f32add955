"""What a reader sees: widgets and figures. Plain data in; never torch."""

from helpers.view.calculator import Calculator, calculator
from helpers.view.choice import ChoiceWidget, explore_choice
from helpers.view.clock import Clock, clock
from helpers.view.figures import (
    Area,
    Climb,
    Cost,
    Curve,
    Growth,
    Level,
    Panel,
    Port,
    Rates,
    RungMark,
    Share,
    Span,
    Spot,
    Win,
    chains,
    climbs,
    engines,
    joined,
    lanes,
    leaf_spine,
    occupied,
    over_ranks,
    passes,
    peaks,
    plane,
    ports,
    rates_against_size,
    roofline,
    routes,
    rungs,
    shares,
    show,
    stages,
    swept,
    time_against_size,
    two_nodes,
    two_trees,
    waits_for,
    winners,
    zoom,
)
from helpers.view.holds import HoldsWidget, explore_holds
from helpers.view.memory import Memory, memory
from helpers.view.mesh import MeshWidget, explore_mesh
from helpers.view.occupancy import OccupancyWidget, explore_occupancy
from helpers.view.overlap import OverlapWidget, explore_overlap
from helpers.view.pipeline import PipelineWidget, explore_pipeline
from helpers.view.player import Player, player
from helpers.view.playground import Playground, playground
from helpers.view.primitive import PrimitiveWidget, primitive
from helpers.view.published import PublishedWidget, explore_published
from helpers.view.routing import RoutingWidget, explore_routing
from helpers.view.segments import SegmentsWidget, segments
from helpers.view.shared.keep import keep
from helpers.view.warp import WarpWidget, explore_warp
from helpers.view.watch import Watch, watch

# isort: split
from helpers.view.figures import pipeline  # the figure: importing the widget's room of that name has put the room there

__all__ = [
    "Area",
    "Calculator",
    "ChoiceWidget",
    "Climb",
    "Clock",
    "Cost",
    "Curve",
    "Growth",
    "HoldsWidget",
    "Level",
    "Memory",
    "MeshWidget",
    "OccupancyWidget",
    "OverlapWidget",
    "Panel",
    "PipelineWidget",
    "Player",
    "Playground",
    "Port",
    "PrimitiveWidget",
    "PublishedWidget",
    "Rates",
    "RoutingWidget",
    "RungMark",
    "SegmentsWidget",
    "Share",
    "Span",
    "Spot",
    "WarpWidget",
    "Watch",
    "Win",
    "calculator",
    "chains",
    "climbs",
    "clock",
    "engines",
    "explore_choice",
    "explore_holds",
    "explore_mesh",
    "explore_occupancy",
    "explore_overlap",
    "explore_pipeline",
    "explore_published",
    "explore_routing",
    "explore_warp",
    "joined",
    "keep",
    "lanes",
    "leaf_spine",
    "memory",
    "occupied",
    "over_ranks",
    "passes",
    "peaks",
    "pipeline",
    "plane",
    "player",
    "playground",
    "ports",
    "primitive",
    "rates_against_size",
    "roofline",
    "routes",
    "rungs",
    "segments",
    "shares",
    "show",
    "stages",
    "swept",
    "time_against_size",
    "two_nodes",
    "two_trees",
    "waits_for",
    "watch",
    "winners",
    "zoom",
]
