"""Readers of real output: nccl-tests, nvidia-smi, NCCL's log, torch's flight recorder and profiler. Damage is told, never guessed at."""

from helpers.nccl.output.flights.flight_checks import FlightRecorderError
from helpers.nccl.output.flights.flight_entries import Operation
from helpers.nccl.output.flights.flight_recorder import Disagreement, FlightRecord, Unmet, parse_flight_recorder
from helpers.nccl.output.logs.debug_lines import DebugLogError
from helpers.nccl.output.logs.debug_log import Communicator, DebugLog, parse_debug_log
from helpers.nccl.output.logs.debug_rows import Chosen, CommRank, Connection, Damaged, Nvls, RingLine, Setting, TreeLine
from helpers.nccl.output.tables.errors import TableError, TopologyError
from helpers.nccl.output.tables.header import NcclDevice, NcclSettings
from helpers.nccl.output.tables.nccl_tests import nccl_tests_tables, parse_nccl_tests
from helpers.nccl.output.tables.rings import BestRing
from helpers.nccl.output.tables.tables import NcclRow, NcclTable, NcclTiming
from helpers.nccl.output.tables.topo import WORDS as TOPO_WORDS
from helpers.nccl.output.tables.topo import Topology, TopologyEdge, parse_topo
from helpers.nccl.output.traces.kineto_checks import KinetoError
from helpers.nccl.output.traces.kineto_collectives import Collective
from helpers.nccl.output.traces.kineto_ranks import Held, KinetoRanks, together
from helpers.nccl.output.traces.kineto_trace import Breakdown, KinetoTrace, parse_kineto

__all__ = [
    "TOPO_WORDS",
    "BestRing",
    "Breakdown",
    "Chosen",
    "Collective",
    "CommRank",
    "Communicator",
    "Connection",
    "Damaged",
    "DebugLog",
    "DebugLogError",
    "Disagreement",
    "FlightRecord",
    "FlightRecorderError",
    "Held",
    "KinetoError",
    "KinetoRanks",
    "KinetoTrace",
    "NcclDevice",
    "NcclRow",
    "NcclSettings",
    "NcclTable",
    "NcclTiming",
    "Nvls",
    "Operation",
    "RingLine",
    "Setting",
    "TableError",
    "Topology",
    "TopologyEdge",
    "TopologyError",
    "TreeLine",
    "Unmet",
    "nccl_tests_tables",
    "parse_debug_log",
    "parse_flight_recorder",
    "parse_kineto",
    "parse_nccl_tests",
    "parse_topo",
    "together",
]
