"""What is alive while a step runs."""

from helpers.view.memory.spec import memory_spec, page_html
from helpers.view.memory.widget import Memory, memory

__all__ = [
    "Memory",
    "memory",
    "memory_spec",
    "page_html",
]
