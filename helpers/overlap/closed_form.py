"""Equal layers in equal buckets: exposed time as a formula, and the best number of buckets. Chapter: overlap.

C seconds of backward make N bytes; m buckets of N/m; a call of n bytes takes alpha + n beta. With t = alpha + N beta / m:

  computation is slower (t <= C/m): every bucket has left before the next stands, and only the last is exposed: t.
  the link is slower: it begins after C/m and is never free again: C/m + m t - C.

Exposed is the larger of the two. The first falls with m, without end; the second has its least at m = sqrt(C / alpha). They meet
where m = (C - N beta) / alpha. So the best m is the larger of these: the first number where communication is longer than
computation or nearly so, the second where there is computation to spare. It is not at all the size where latency stops to matter.
"""

from __future__ import annotations

import math

from .outcome import duration


def exposed_of_equal(computed: float, nbuckets: int, alpha: float, transfer: float) -> float:
    """Seconds exposed. computed: C; alpha: of a call; transfer: N beta, of all bytes. ValueError for what is no time or number."""
    for name, value in (("computed", computed), ("alpha", alpha), ("transfer", transfer)):
        duration(name, value)
    if isinstance(nbuckets, bool) or not isinstance(nbuckets, int) or nbuckets < 1:
        raise ValueError(f"nbuckets is a whole number of at least 1, got {nbuckets!r}")
    one = alpha + transfer / nbuckets
    return max(one, computed / nbuckets + nbuckets * one - computed)


def best_number(computed: float, alpha: float, transfer: float) -> float:
    """How many equal buckets expose least, as a real number of at least 1. ValueError unless alpha is positive.

    Without a latency there is no best number: more are always better, down to a byte each.
    """
    for name, value in (("computed", computed), ("transfer", transfer)):
        duration(name, value)
    if duration("alpha", alpha) == 0:
        raise ValueError("without a latency more buckets are always better: alpha is more than 0 seconds, got 0")
    return max((computed - transfer) / alpha, math.sqrt(computed / alpha), 1.0)
