"""helpers.parallel.annotated by JAX: eight virtual devices are one process; what XLA put in, against what hands would write."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from helpers.parallel import Training, difference, train
from helpers.parallel.annotated import LAYOUTS, by_hand, by_jax, total

pytestmark = pytest.mark.skipif(not by_jax.installed(), reason="needs jax: pip install -r requirements-jax.txt")
TRAINING = Training(steps=2, batch=16)  # two rows a device
NRANKS = 8


@pytest.fixture(scope="module")
def compiled():
    return by_jax.run(TRAINING, list(LAYOUTS.values()), NRANKS)


@pytest.fixture(scope="module")
def alone():
    return train(TRAINING)


@pytest.mark.parametrize("name", LAYOUTS)
def test_annotations_change_no_number_in_jax(compiled, alone, name):
    assert compiled[name].refused == ""
    assert difference(compiled[name].trained, alone) < TRAINING.tolerance


def test_jax_is_in_its_own_process(compiled):
    pinned = (by_jax.PROGRAM.parents[3] / "requirements-jax.txt").read_text()
    assert f"jax=={compiled.version} " in pinned and "jax" not in sys.modules


@pytest.mark.parametrize("name", ["batch cut", "pairs", "pairs, outputs said", "pairs on a mesh"])
def test_xla_moves_the_bytes_that_hands_would(compiled, name):
    """In fewer calls where several sums become one; outputs of which nobody says anything cost nothing more here."""
    want, got = by_hand(TRAINING, LAYOUTS[name], NRANKS), compiled[name].compiled
    assert got.by_op().keys() == want.keys() == {"all_reduce"}
    assert [got.sent(rank) for rank in range(NRANKS)] == [total(want)] * NRANKS
    assert (
        got.ncalls() == want["all_reduce"][0]
        if "data" not in LAYOUTS[name].axes
        else got.ncalls() < want["all_reduce"][0]
    )


@pytest.mark.parametrize("name", ["batch and matrices", "the same, gathered", "gathered, computed again"])
def test_the_cpus_compiler_has_all_reduces_for_reduce_scatters(compiled, name):
    """Twice their bytes; the gathers are those of hands."""
    want, got = by_hand(TRAINING, LAYOUTS[name], NRANKS), compiled[name].compiled
    assert got.by_op().keys() == {"all_gather", "all_reduce"}
    assert (got.ncalls("all_gather"), got.sent(0, "all_gather")) == want["all_gather"]
    assert got.sent(0, "all_reduce") == want["all_reduce"][1] + 2 * want["reduce_scatter"][1]


def test_remat_gathers_and_multiplies_again(compiled):
    """All but the last layer's product, on which no gradient of its own layer depends."""
    once, again, depth = compiled["the same, gathered"], compiled["gathered, computed again"], TRAINING.model.depth
    assert again.compiled.ncalls("all_gather") == 2 * once.compiled.ncalls("all_gather") == 2 * depth
    assert (once.products, again.products) == (3 * depth - 1, 3 * depth - 1 + depth - 1)


@pytest.fixture(scope="module")
def explicit():
    """A row a device."""
    layouts = [LAYOUTS[name] for name in ("batch cut", "pairs", "batch and matrices")]
    return by_jax.run(TRAINING.but(steps=1, batch=NRANKS), layouts, NRANKS, True)


def test_a_product_that_sums_over_one_row_is_a_multiplication(explicit):
    """Every matrix's gradient, where a device has one sample: XLA keeps JAX's name of it, dot_general, and writes no dot."""
    one, depth = explicit["batch cut"], TRAINING.model.depth
    outer = re.findall(r"f64\[16,16\]\S* multiply\(.*/dot_general\"", one.text)
    assert (len(outer), one.products) == (depth, 2 * depth - 1)


def test_with_explicit_axes_jax_refuses_to_guess(explicit):
    found = explicit
    assert found["batch cut"].refused == "" and "ambiguous how the output should be sharded" in found["pairs"].refused
    assert "illegally sharded result" in found["batch and matrices"].refused


SILENT = """
import jax
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4,), ("tensor",))  # Explicit
jax.set_mesh(mesh)
put = lambda shape, *cuts: jax.device_put(jax.numpy.ones(shape), jax.NamedSharding(mesh, P(*cuts)))
for rows, columns in ((64, 1024), (1024, 64)):  # the product is smaller than what is cut, and larger
    one = put((rows, columns), None, "tensor"), put((columns, rows))
    print(rows, jax.jit(jax.numpy.matmul).lower(*one).compile().as_text())
print(0, jax.jit(lambda x: x.sum(1)).lower(put((8, 16), None, "tensor")).compile().as_text())
"""


def test_where_there_is_one_answer_explicit_axes_move_silently(tmp_path):
    """One operand cut in the common dimension: gathered, or its products summed, by the fewer bytes. A sum over the cut: summed."""
    file = tmp_path / "silent.py"
    file.write_text(SILENT, encoding="utf-8")
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    told = subprocess.run([sys.executable, str(file)], env=env, capture_output=True, text=True, check=True).stdout
    assert re.findall(r" (all-[a-z]+)\(", told) == ["all-reduce", "all-gather", "all-reduce"]


def test_the_page_s_program_makes_one_all_reduce(tmp_path):
    """The pair on the page Annotations, as it stands there, on four devices that a CPU plays."""
    page = (by_jax.PROGRAM.parents[3] / "book" / "annotations.md").read_text(encoding="utf-8")
    program = next(part for part in page.split("```python\n")[1:] if part.startswith("import jax")).split("```")[0]
    file = tmp_path / "pair.py"
    file.write_text(program, encoding="utf-8")
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    told = subprocess.run([sys.executable, str(file)], env=env, capture_output=True, text=True, check=True).stdout
    found = [line for line in told.splitlines() if re.search(r" (all-|reduce-scatter|collective-)[a-z]*\(", line)]
    assert len(found) == 1 and " all-reduce(" in found[0], found
