"""What pages say of torch's defaults is what the installed torch has."""

from __future__ import annotations

import inspect
import re
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d
from torch.nn.parallel import DistributedDataParallel

from helpers import torch_versions
from helpers.facts import FACTS
from helpers.units import MIB


def test_buckets_of_ddp():
    assert FACTS["ddp.bucket.first"].quantity == dist._DEFAULT_FIRST_BUCKET_BYTES
    assert inspect.signature(DistributedDataParallel).parameters["bucket_cap_mb"].default is None
    assert f"a default size of {FACTS['ddp.bucket'].quantity / MIB:.0f} MiB" in " ".join(
        DistributedDataParallel.__doc__.split()
    )


def test_the_flight_recorder_is_on():
    header = Path(torch.__file__).parent / "include/torch/csrc/distributed/c10d/FlightRecorder.hpp"
    entries = re.search(r'"TORCH_FR_BUFFER_SIZE"[^)]*?(\d+)\)', header.read_text(encoding="utf-8"))
    assert int(entries[1]) == FACTS["torch.flight_recorder"].quantity > 0


def test_nccl_has_no_reductions_on_bits():
    assert {"SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "AVG"} <= dist.ReduceOp.RedOpType.__members__.keys()
    assert "not available when using the ``NCCL`` backend" in " ".join(dist.ReduceOp.__doc__.split())


def test_a_group_that_only_its_members_make_is_named_by_the_number_of_groups_they_have(monkeypatch):
    """So members that have unequally many never meet (chapter on ranks)."""
    name = partial(distributed_c10d._process_group_name, [0, 1], use_hashed_name=True)
    first, ever = name(), torch_versions.has("names-of-groups", torch.__version__)
    assert (name() != first) == ever, "each that was made counts, also where it is gone"
    monkeypatch.setitem(distributed_c10d._world.pg_names, object(), "one more")
    assert name() != first
