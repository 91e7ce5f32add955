"""The step player: a schedule as a topology, as memory and as time."""
