"""The collector waits while much is made, and goes on as it was before, also behind an error."""

import gc

import pytest

from helpers.collector import waiting


@pytest.mark.parametrize("was", [True, False])
def test_it_waits_and_is_as_it_was(was):
    before = gc.isenabled()
    (gc.enable if was else gc.disable)()
    try:
        with pytest.raises(KeyError), waiting():
            assert not waiting()(gc.isenabled)()
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() is was
    finally:
        (gc.enable if before else gc.disable)()
