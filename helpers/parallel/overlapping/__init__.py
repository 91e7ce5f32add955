"""What communication hides, measured: steps whose layers only take their time, over an emulated network. Chapter: overlap."""

from .lanes import BUSY, Event, Lanes, Step, oversleep
from .ways import WAYS, Layer, measured, predicted

__all__ = ["BUSY", "WAYS", "Event", "Lanes", "Layer", "Step", "measured", "oversleep", "predicted"]
