"""Every strategy of the course, in one table. Chapters: data-parallel to meshes.

A new one: its module's name here, its `Strategy` values in that module.
"""

from __future__ import annotations

from . import context, data, expert, meshes, norms, pipeline, sharded, tensor
from .strategy import Strategy

MODULES = (data, sharded, tensor, expert, norms, pipeline, meshes, context)
STRATEGIES: dict[str, Strategy] = {one.name: one for module in MODULES for one in module.STRATEGIES}
