"""What a call that lasts says meanwhile: one line that changes, and is gone when the call is over. Chapter: ranks.

It stands on a terminal's stderr, or below a notebook's cell that a reader has run. A pipe, a file, and what runs a notebook without a
reader (`make notebooks`, nbval, papermill) get nothing: so no saved output has it.
"""

from helpers.meanwhile.line import LINE, attend
from helpers.meanwhile.silence import Count, Pace, Silence, aloud

__all__ = ["LINE", "Count", "Pace", "Silence", "aloud", "attend"]
