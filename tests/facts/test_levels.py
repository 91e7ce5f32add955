"""The ladder of memories of a chip: which rows it has, what each holds, and who says how fast it is."""

import pytest

from helpers.facts import ACCELERATORS
from helpers.facts.levels import MEMORY, NAMES, levels


@pytest.mark.parametrize("gpu", ACCELERATORS.values(), ids=ACCELERATORS)
def test_a_ladder_goes_from_the_arithmetic_outwards_and_ends_in_memory(gpu):
    rows = levels(gpu)
    names = [row.name for row in rows]
    assert names == [name for name in NAMES if name in names] and names[-1] == MEMORY
    assert ("Tensor Memory" in names) == bool(gpu.tensor_memory)
    for row in rows[:-1]:
        assert row.in_all == (row.per_unit * gpu.sms.number if row.per_unit else row.facts[0].number)
        assert row.facts and None not in row.facts


@pytest.mark.parametrize("gpu", ACCELERATORS.values(), ids=ACCELERATORS)
def test_the_memorys_row_is_what_its_vendor_states(gpu):
    memory = levels(gpu)[-1]
    assert (memory.per_unit, memory.in_all, memory.formula) == (None, gpu.hbm_capacity.number, "")
    assert memory.published and memory.facts == (gpu.hbm_capacity, gpu.hbm)
    assert memory.bandwidth == gpu.hbm.bandwidth
