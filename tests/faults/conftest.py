"""Kernels: one that a module's tests share, and a way to make more."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kernels import Kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory) -> Iterator[Kernel]:
    """A notebook with four ranks, shared by the tests of a module: each leaves it as healthy as it found it."""
    made = Kernel(tmp_path_factory.mktemp("kernel"))
    yield made
    made.close()


@pytest.fixture
def new_kernel(tmp_path) -> Iterator[Callable[..., Kernel]]:
    """new_kernel(...) -> a Kernel for this test alone."""
    made = []

    def make(**how) -> Kernel:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Kernel(folder, **how))
        return made[-1]

    yield make
    for one in made:
        one.close()
