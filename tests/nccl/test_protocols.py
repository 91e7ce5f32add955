"""Lines, slots and chunks as NCCL's headers have them; how a call is cut over channels and loops."""

from __future__ import annotations

import pytest

from helpers.nccl import PROTOCOLS, Platform, cut, release_of
from helpers.nccl.fabric import channels
from helpers.nccl.protocols import LEAST_SLICE

KIB = 1024
H200 = Platform("H200", 8).fabric()
NOW = release_of()


def test_the_lines_of_the_protocols():
    assert {name: protocol.efficiency for name, protocol in PROTOCOLS.items()} == {
        "LL": 0.5,
        "LL128": 0.9375,
        "Simple": 1.0,
    }


@pytest.mark.parametrize(
    ("name", "buffer", "slot", "data", "chunk"),
    [
        ("LL", 512 * KIB, 64 * KIB, 32 * KIB, 32 * KIB),
        ("LL128", 4_915_200, 600 * KIB, 576_000, 576_000),
        ("Simple", 4096 * KIB, 512 * KIB, 512 * KIB, 2048 * KIB),
    ],
)
def test_a_buffer_has_eight_slots(name, buffer, slot, data, chunk):
    one = PROTOCOLS[name]
    assert (one.buffer, one.slot, one.slot_data, one.chunk) == (buffer, slot, data, chunk)
    assert one.chunk % one.grain == 0 and one.buffer == 8 * one.slot and str(one) == name
    assert one.slice == (1024 * KIB if name == "Simple" else data)


def test_a_block_of_each_protocol_passes_whole_lines():
    for one in PROTOCOLS.values():
        assert one.slot % (one.line or 1) == 0


def test_an_h200_node_has_twice_the_channels_of_its_search():
    assert channels(H200, NOW) == 24
    assert channels(Platform("B200", 8).fabric(), NOW) == 32


def test_a_short_message_takes_few_channels_and_ll_asks_its_threshold_of_every_rank():
    taken = [cut("Ring", "LL", size * KIB, H200, NOW).channels for size in (1, 32, 64, 512, 768, 4096)]
    assert taken == [1, 1, 2, 16, 24, 24]
    assert cut("Ring", "LL128", 64 * KIB, H200, NOW).channels == 64 * KIB // 5120
    assert cut("Ring", "Simple", 64 * KIB, H200, NOW).channels == 2
    assert cut("Tree", "LL", 64 * KIB, H200, NOW).channels == 16


def test_a_ring_moves_a_chunk_for_every_rank_and_channel_in_a_loop():
    whole = cut("Ring", "Simple", 2**30, H200, NOW)
    assert (whole.chunk, whole.slice, whole.loop, whole.loops) == (2**21, 2**20, 24 * 8 * 2**21, 3)
    short = cut("Ring", "Simple", 24 * 8 * 48 * KIB, H200, NOW)
    assert (short.chunk, short.slice, short.loops) == (48 * KIB, LEAST_SLICE, 1)
    assert LEAST_SLICE == 32 * KIB


def test_a_chunk_has_room_for_the_last_byte_of_an_odd_message():
    odd = cut("Ring", "Simple", 1001, H200, NOW)
    assert (odd.channels, odd.chunk) == (1, 126) and 8 * odd.chunk >= 1001


def test_nvls_takes_shorter_chunks_for_shorter_messages():
    """16 blocks and 8 heads: 128 KiB from 1 GiB on, 64 from 64 MiB, 32 from 8 MiB, 16 below."""
    found = [cut("NVLS", "Simple", 2**exponent, H200, NOW) for exponent in (21, 22, 23, 25, 26, 29, 30)]
    assert [one.chunk // KIB for one in found] == [16, 16, 32, 32, 64, 64, 128]
    assert [one.loops for one in found] == [1, 2, 2, 8, 8, 64, 64]
    assert {one.channels for one in found} == {16}
    b200 = Platform("B200", 8).fabric()
    assert [cut("NVLS", "Simple", 2**30, b200, release_of(v)).channels for v in ("2.26.2", "2.27.3")] == [32, 24]


def test_what_is_not_cut_here_is_refused():
    with pytest.raises(ValueError, match="PAT"):
        cut("PAT", "Simple", 2**20, H200, NOW)
