"""Is my number good? A reader's own table, topology, log, dumps or snapshot, and a verdict on it. Chapter: yours."""

from helpers.yours.asked import is_my_number_good
from helpers.yours.verdict import Bend, Beside, Cause, Foretold, Verdict

__all__ = ["Bend", "Beside", "Cause", "Foretold", "Verdict", "is_my_number_good"]
