"""Saving the shared out state of a training and resuming it on other ranks, with torch's distributed checkpoint. Chapter: sharded."""

from helpers.ranks.machine import server

from .folders import latest
from .jobs import WAYS, Job, begun, job, losses, resumed
from .paper import predicted, written
from .saving import async_save, load, save

server.also("torch.distributed.checkpoint.state_dict")  # half a second of every rank's time, once

__all__ = [
    "WAYS",
    "Job",
    "async_save",
    "begun",
    "job",
    "latest",
    "load",
    "losses",
    "predicted",
    "resumed",
    "save",
    "written",
]
