"""What communication hides, measured: steps whose layers only take their time, over an emulated network. Chapter: overlap."""

from .lanes import Event, Lanes, Step
from .ways import WAYS, Layer, measured, predicted

__all__ = ["WAYS", "Event", "Lanes", "Layer", "Step", "measured", "predicted"]
