"""How long a rank has waited, less what is no rank's fault: the machine stood still, or we were busy ourselves. Chapter: hangs.

A closed lid, a frozen container or SIGSTOP to everybody stops the clock of no process, and nobody can make progress meanwhile. Who
looks at regular times knows of it by the gap between two looks.
"""

from __future__ import annotations

import time
from collections import deque

# Seconds of every gap that count as waiting all the same: so a deadline comes however slow the machine is
COUNTED = 0.2
KEPT = 1000  # gaps


class Pauses:
    """every: seconds from one look to the next."""

    def __init__(self, every: float):
        self._most = every + COUNTED
        self._looked = time.monotonic()
        self._busy = self.stood_still = 0.0  # seconds: since the last look, and in all
        self._away: deque[tuple[float, float]] = deque(maxlen=KEPT)  # from when, for how many seconds

    def look(self, now: float) -> None:
        """Call it at every look."""
        if (seconds := now - self._looked - self._busy - self._most) > 0:
            self._away.append((self._looked, seconds))
            self.stood_still += seconds
        self._looked, self._busy = now, 0.0

    def busy(self, begun: float, seconds: float) -> None:
        """We did something else: that is no standing still, but nobody took what the ranks sent."""
        self._away.append((begun, seconds))
        self._busy += seconds

    def waited(self, since: float, now: float) -> float:
        """Seconds since then that count."""
        missed = (min(seconds, begun + seconds - since) for begun, seconds in self._away)
        return now - since - sum(each for each in missed if each > 0)
