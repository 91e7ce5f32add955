"""NCCL_RUN_DIAGNOSTICS=1, since 2.31: healthy, a pair of GPUs, a rank's network. Forms: NVIDIA's guide, and texts of 2.31.2 and 2.32.3."""

from __future__ import annotations

import pytest

from helpers.yours import is_my_number_good

HEAD, END = "=== NCCL Diagnostics ===", "NCCL diagnostics completed in 245.3 ms across 8 ranks"
WHOLE = "[OK]   p2p: verified P2P access in both directions between every GPU pair (56 peer accesses)"
RATES = "[{}] net bw: {}/391.5/398.2 Gbit/s min/median/max same-nic bw (across 8 ranks) in comm 0x7a3f9b2c41d05e88"
OFF = "[INFO] net bw: same-nic rank 3 (n0): {} Gbit/s, >30% off median 391.5 Gbit/s in comm 0x7a3f9b2c41d05e88"
MISMATCH = "[INFO] p2p: write mismatch src=1 dst=2 path=PIX expected=0x0000000000000001 got=0x0000000000000000 verify=0x0; check ACS"
CASES = {  # lines between head and end; who is accused; words of the verdict
    "healthy": ([WHOLE, RATES.format("OK", "376.1")], [], "All pairs of GPUs reach each other; 376.1 to 398.2 Gbit/s, in the middle 391.5"),
    "2.31": (["[OK]   p2p: 56/56 directed GPU P2P edges verified"], [], "56 of 56 accesses"),
    "a pair": ([MISMATCH, "[INFO] p2p: only 52/56 GPU-to-GPU peer accesses passed verification"], ["no P2P"], "52 of 56"),
    "only the sum": (["[INFO] p2p: only 52/56 GPU-to-GPU peer accesses passed verification"], ["no P2P"], "52 of 56"),
    "a slow rank": ([WHOLE, RATES.format("INFO", "265.1"), OFF.format("265.1")], ["slow rail"], "265.1 to 398.2"),
    "a fast one": ([WHOLE, RATES.format("INFO", "376.1"), OFF.format("800.0")], [], "All pairs"),
    "a rate that is none": ([WHOLE, OFF.format("1.2.3")], [], "not to its end: net bw: same-nic rank 3 (n0): 1.2.3"),
    "not tried": (["[INFO] net bw: required external tool missing in comm 0x1"], [], "required external tool missing"),
    "not to its end": (["[INFO] net bw: tool run timed out in comm 0x1"], [], "not to its end: net bw: tool run timed out"),
    "one host": ([WHOLE, "[OK] net bw: skipped (single host or no network transport)"], [], "All pairs"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("front", ["h7:31 NCCL DIAG ", "NCCL DIAG "])
def test_what_nccl_finds_itself(name, front):
    lines, accused, words = CASES[name]
    found = is_my_number_good("".join(f"{front}{line}\n" for line in (HEAD, *lines, END)))
    assert not found.refused and list(found.accused) == accused
    assert words in " ".join([found.sentence, *(one.why for one in found.causes)])


def test_without_a_result_it_is_refused():
    assert "[OK] or [INFO]" in is_my_number_good(f"h7:31 NCCL DIAG {HEAD}\n").refused
