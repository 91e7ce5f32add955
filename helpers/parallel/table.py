"""Every strategy of the course, in one table. Chapters: data-parallel, sharded.

A new one: its module's name here, its `Strategy` values in that module.
"""

from __future__ import annotations

from .strategy import Strategy

from . import data

MODULES = (data,)
STRATEGIES: dict[str, Strategy] = {one.name: one for module in MODULES for one in module.STRATEGIES}
