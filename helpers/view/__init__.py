"""What a reader sees: widgets and figures. Plain data in; never torch."""

from helpers.view.calculator.widget import calculator
from helpers.view.choice.widget import explore_choice
from helpers.view.clock.widget import clock
from helpers.view.figures.against_size import Curve, time_against_size
from helpers.view.figures.choices import Cost, Growth, Win, over_ranks, plane, winners
from helpers.view.figures.ladder import Climb, RungMark, climbs, rungs
from helpers.view.figures.lanes import Span, lanes
from helpers.view.figures.nccl.chains import chains
from helpers.view.figures.nccl.engines import engines
from helpers.view.figures.nccl.occupied import Area, Panel, occupied
from helpers.view.figures.nccl.passes import passes
from helpers.view.figures.nccl.swept import swept
from helpers.view.figures.nccl.zoom import Level, zoom
from helpers.view.figures.network.fabric import leaf_spine
from helpers.view.figures.network.joined import joined
from helpers.view.figures.network.parts import node_parts
from helpers.view.figures.network.routes import routes
from helpers.view.figures.nodes import two_nodes
from helpers.view.figures.rates import Rates, rates_against_size
from helpers.view.figures.roofline import Spot, roofline
from helpers.view.figures.show import show
from helpers.view.figures.training.peaks import peaks
from helpers.view.figures.training.ports import Port, ports
from helpers.view.figures.training.shares import Share, shares
from helpers.view.figures.training.stages import stages
from helpers.view.figures.trees import two_trees
from helpers.view.figures.waits import waits_for
from helpers.view.holds.widget import explore_holds
from helpers.view.memory.widget import memory
from helpers.view.mesh.widget import explore_mesh
from helpers.view.occupancy.widget import explore_occupancy
from helpers.view.overlap.widget import explore_overlap
from helpers.view.pipeline.widget import explore_pipeline
from helpers.view.player.widget import Player, player
from helpers.view.playground.widget import Playground, playground
from helpers.view.primitive.widget import primitive
from helpers.view.published.widget import explore_published
from helpers.view.routing.widget import explore_routing
from helpers.view.segments.widget import segments
from helpers.view.shared.keep import keep
from helpers.view.warp.widget import explore_warp
from helpers.view.watch.widget import watch

# isort: split
# The figure: importing the widget's room of that name has put the room there.
from helpers.view.figures.nccl.pipeline import pipeline

__all__ = [
    "Area",
    "Climb",
    "Cost",
    "Curve",
    "Growth",
    "Level",
    "Panel",
    "Player",
    "Playground",
    "Port",
    "Rates",
    "RungMark",
    "Share",
    "Span",
    "Spot",
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
    "node_parts",
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
