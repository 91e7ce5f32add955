"""Readers of real output: what NCCL's log and torch's flight recorder say, as rows. Damaged text is told, never guessed at."""

from helpers.nccl.output.debug_lines import DebugLogError
from helpers.nccl.output.debug_log import Communicator, DebugLog, parse_debug_log
from helpers.nccl.output.debug_rows import Chosen, CommRank, Connection, Damaged, Nvls, RingLine, Setting, TreeLine
from helpers.nccl.output.flight_checks import FlightRecorderError
from helpers.nccl.output.flight_entries import Operation
from helpers.nccl.output.flight_recorder import Disagreement, FlightRecord, Unmet, parse_flight_recorder

__all__ = [
    "Chosen",
    "CommRank",
    "Communicator",
    "Connection",
    "Damaged",
    "DebugLog",
    "DebugLogError",
    "Disagreement",
    "FlightRecord",
    "FlightRecorderError",
    "Nvls",
    "Operation",
    "RingLine",
    "Setting",
    "TreeLine",
    "Unmet",
    "parse_debug_log",
    "parse_flight_recorder",
]
