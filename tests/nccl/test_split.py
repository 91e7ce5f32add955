"""A tree's block splits its threads as runTreeSplit does: by hand, from the source."""

import pytest

from helpers.nccl.split import tree_threads


@pytest.mark.parametrize(
    ("protocol", "up", "down"),
    [("Simple", 384, 256), ("LL", 448, 192), ("LL128", 448, 192)],
)
def test_a_block_of_640_threads(protocol, up, down):
    """Simple: 640 / 2 = 320, and 64 more from 256 on. LL and LL128: 640 * 7 / 320 = 14 warps."""
    assert tree_threads(protocol) == (up, down)


def test_a_small_block_of_simple_is_split_in_halves():
    assert tree_threads("Simple", 256) == (128, 128)
    assert tree_threads("Simple", 512) == (320, 192)


def test_every_thread_has_one_of_the_two_tasks_and_both_have_warps():
    for protocol in ("LL", "LL128", "Simple"):
        for threads in range(64, 641, 64):
            up, down = tree_threads(protocol, threads)
            assert up + down == threads and up > 0 and down > 0 and up % 32 == 0


@pytest.mark.parametrize(("protocol", "threads", "says"), [("LL256", 640, "LL128, Simple"), ("LL", 100, "got 100")])
def test_what_is_no_block_is_refused(protocol, threads, says):
    with pytest.raises(ValueError, match=says):
        tree_threads(protocol, threads)
