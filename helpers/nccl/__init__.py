"""What NCCL does with a collective: protocols, channels, its cost model by version, and what the clock shows."""

from helpers.collectives import double_tree
from helpers.nccl.corrected import corrected
from helpers.nccl.cut import Cut, cut
from helpers.nccl.fabric import Fabric, Graph
from helpers.nccl.fused import Fused, fused
from helpers.nccl.launch import LAUNCHES, Launch, launch_of
from helpers.nccl.output.flights.flight_checks import FlightRecorderError
from helpers.nccl.output.flights.flight_recorder import FlightRecord, parse_flight_recorder
from helpers.nccl.output.logs.debug_lines import DebugLogError
from helpers.nccl.output.logs.debug_log import DebugLog, parse_debug_log
from helpers.nccl.output.machine.rings import BestRing
from helpers.nccl.output.machine.topo import parse_topo
from helpers.nccl.output.machine.topology import WORDS as TOPO_WORDS
from helpers.nccl.output.machine.topology import Topology, TopologyEdge
from helpers.nccl.output.tables.errors import TableError, TopologyError
from helpers.nccl.output.tables.header import NcclDevice, NcclSettings
from helpers.nccl.output.tables.nccl_tests import nccl_tests_tables, parse_nccl_tests
from helpers.nccl.output.tables.tables import NcclRow, NcclTable, NcclTiming
from helpers.nccl.output.traces.kineto_checks import KinetoError
from helpers.nccl.output.traces.kineto_ranks import KinetoRanks, together
from helpers.nccl.output.traces.kineto_trace import KinetoTrace, parse_kineto
from helpers.nccl.overrides import OverrideError, Overrides, overridden, overrides
from helpers.nccl.platforms import NotPredicted, Platform
from helpers.nccl.predict import Candidate, Choice, predict
from helpers.nccl.protocols import PROTOCOLS, Protocol
from helpers.nccl.releases import RELEASES, Release, release_of
from helpers.nccl.transports import Transport, transport
from helpers.nccl.tuning import Estimate, costs

__all__ = [
    "LAUNCHES",
    "PROTOCOLS",
    "RELEASES",
    "TOPO_WORDS",
    "BestRing",
    "Candidate",
    "Choice",
    "Cut",
    "DebugLog",
    "DebugLogError",
    "Estimate",
    "Fabric",
    "FlightRecord",
    "FlightRecorderError",
    "Fused",
    "Graph",
    "KinetoError",
    "KinetoRanks",
    "KinetoTrace",
    "Launch",
    "NcclDevice",
    "NcclRow",
    "NcclSettings",
    "NcclTable",
    "NcclTiming",
    "NotPredicted",
    "OverrideError",
    "Overrides",
    "Platform",
    "Protocol",
    "Release",
    "TableError",
    "Topology",
    "TopologyEdge",
    "TopologyError",
    "Transport",
    "corrected",
    "costs",
    "cut",
    "double_tree",
    "fused",
    "launch_of",
    "nccl_tests_tables",
    "overridden",
    "overrides",
    "parse_debug_log",
    "parse_flight_recorder",
    "parse_kineto",
    "parse_nccl_tests",
    "parse_topo",
    "predict",
    "release_of",
    "together",
    "transport",
]
