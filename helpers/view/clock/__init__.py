"""NCCL's three protocols on one clock."""

from helpers.view.clock.lanes import Lane, crossings, lanes
from helpers.view.clock.widget import Clock, clock, clock_html, clock_sentence, clock_spec

__all__ = ["Clock", "Lane", "clock", "clock_html", "clock_sentence", "clock_spec", "crossings", "lanes"]
