"""Who holds what: a recorded training step of four ranks, moment by moment, one way to share out beside another."""

from helpers.view.holds.widget import HoldsWidget, explore_holds, holds_html, holds_sentence, holds_spec

__all__ = ["HoldsWidget", "explore_holds", "holds_html", "holds_sentence", "holds_spec"]
