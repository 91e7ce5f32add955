"""Every strategy of the course, in one table. A new one is its module's name here, and its `Strategy` values there. Chapters: data-parallel to meshes."""

from __future__ import annotations

from . import expert, meshes, norms, tensor
from .strategy import Strategy

MODULES: tuple = (tensor, expert, norms, meshes)
STRATEGIES: dict[str, Strategy] = {one.name: one for module in MODULES for one in module.STRATEGIES}
