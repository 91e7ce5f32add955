"""How many blocks fit on one SM."""

from helpers.view.occupancy.widget import (
    OccupancyWidget,
    explore_occupancy,
    gpus,
    occupancy_html,
    occupancy_sentence,
    occupancy_spec,
)

__all__ = [
    "OccupancyWidget",
    "explore_occupancy",
    "gpus",
    "occupancy_html",
    "occupancy_sentence",
    "occupancy_spec",
]
