"""What a device has, as a dashed line in a figure: its memory, or its bandwidth, from the facts. Chapters: too-big, memory-hierarchy."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from helpers.facts import Accelerator
from helpers.units import GIB, nbytes_text
from helpers.view.shared.tokens import colour

LINE = {"color": colour("ink"), "width": 1, "dash": "dash"}
WORDS = {"showarrow": False, "align": "left", "xanchor": "left", "yanchor": "bottom", "xshift": 4}


def capacity_line(figure: go.Figure, device: Accelerator) -> None:
    """A line up at the bytes of the device's memory, on an x axis in GiB; its name low beside it, where bars are short."""
    nbytes = int(device.hbm_capacity.quantity)
    figure.add_vline(x=nbytes / GIB, line=LINE)
    figure.add_annotation(x=nbytes / GIB, y=0, yref="paper", text=f"{device.name}: {nbytes_text(nbytes)}", **WORDS)


def bandwidth_line(figure: go.Figure, device: Accelerator, said: str) -> None:
    """A line across at the bandwidth of the device's memory, on a logarithmic y axis in bytes per second; its name over its left end.

    said: the bandwidth as this figure spells it.
    """
    rate = device.hbm.bandwidth
    figure.add_hline(y=rate.value, line=LINE)
    text = f"{device.name}'s memory:<br>{said}, {rate.direction}"
    figure.add_annotation(x=0, xref="paper", y=math.log10(rate.value), text=text, **WORDS)
