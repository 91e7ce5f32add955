"""What a reader sees: widgets and figures. Plain data in; never torch."""

from helpers.view.figures import Curve, time_against_size
from helpers.view.keep import keep
from helpers.view.lanes import Span, lanes
from helpers.view.player import Player, player
from helpers.view.primitive import PrimitiveWidget, primitive
from helpers.view.show import show
from helpers.view.waits import waits_for
from helpers.view.watch import Watch, watch

__all__ = [
    "Curve",
    "Player",
    "PrimitiveWidget",
    "Span",
    "Watch",
    "keep",
    "lanes",
    "player",
    "primitive",
    "show",
    "time_against_size",
    "waits_for",
    "watch",
]
