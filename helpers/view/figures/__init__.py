"""Charts: plain data in, a plotly figure out."""

from helpers.view.figures.against_size import Curve, time_against_size
from helpers.view.figures.choices import Cost, Growth, Win, over_ranks, plane, winners
from helpers.view.figures.ladder import Climb, RungMark, climbs, rungs
from helpers.view.figures.lanes import Span, lanes
from helpers.view.figures.nccl import Area, Level, Panel, chains, engines, occupied, passes, pipeline, swept, zoom
from helpers.view.figures.network.fabric import leaf_spine
from helpers.view.figures.network.joined import joined
from helpers.view.figures.network.parts import node_parts
from helpers.view.figures.network.routes import routes
from helpers.view.figures.nodes import two_nodes
from helpers.view.figures.rates import Rates, rates_against_size
from helpers.view.figures.roofline import Spot, roofline
from helpers.view.figures.show import show
from helpers.view.figures.training.ledger import ledger, ledger_memory
from helpers.view.figures.training.peaks import peaks
from helpers.view.figures.training.ports import Port, ports
from helpers.view.figures.training.shares import Share, shares
from helpers.view.figures.training.stages import stages
from helpers.view.figures.trees import two_trees
from helpers.view.figures.waits import waits_for

__all__ = [
    "Area",
    "Climb",
    "Cost",
    "Curve",
    "Growth",
    "Level",
    "Panel",
    "Port",
    "Rates",
    "RungMark",
    "Share",
    "Span",
    "Spot",
    "Win",
    "chains",
    "climbs",
    "engines",
    "joined",
    "lanes",
    "leaf_spine",
    "ledger",
    "ledger_memory",
    "node_parts",
    "occupied",
    "over_ranks",
    "passes",
    "peaks",
    "pipeline",
    "plane",
    "ports",
    "rates_against_size",
    "roofline",
    "routes",
    "rungs",
    "shares",
    "show",
    "stages",
    "swept",
    "time_against_size",
    "two_nodes",
    "two_trees",
    "waits_for",
    "winners",
    "zoom",
]
