"""The process with torch in it ends with the tests."""

import pytest
import warm


@pytest.fixture(scope="session", autouse=True)
def cold():
    yield
    warm.end()
