"""One warp: branches, sectors, banks."""

from helpers.view.warp.widget import WarpWidget, explore_warp, warp_html, warp_sentence, warp_spec

__all__ = [
    "WarpWidget",
    "explore_warp",
    "warp_html",
    "warp_sentence",
    "warp_spec",
]
