"""What a reader sees: widgets and figures. Plain data in; never torch."""

from helpers.view.player import Player, player

__all__ = ["Player", "player"]
