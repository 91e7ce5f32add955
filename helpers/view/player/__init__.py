"""The step player: a schedule as a topology, as memory and as time."""

from helpers.view.player.widget import Player, build, player, player_html, player_sentence, player_spec, resolve

__all__ = [
    "Player",
    "build",
    "player",
    "player_html",
    "player_sentence",
    "player_spec",
    "resolve",
]
