"""Four Gloo ranks for all tests of strategies: torch's optimizers and wrappers import its compiler, seconds of every rank's time, once."""

import pytest

from helpers.ranks import Ranks


@pytest.fixture(scope="session")
def ranks():
    with Ranks(4, backend="gloo", timeout=120) as ranks:
        yield ranks
