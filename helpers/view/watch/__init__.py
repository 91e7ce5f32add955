"""A call on ranks while it runs."""

from helpers.view.watch.widget import Watch, watch

__all__ = [
    "Watch",
    "watch",
]
