"""A file in /dev/shm is counted for whoever holds it, and one that nobody holds for everybody."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from shared_memory import shared_memory

OPEN = "held = open({path!r})"
MAPPED = """
import ctypes, mmap
file, map = open({path!r}, "r+"), ctypes.CDLL(None).mmap  # Python's own mmap keeps the file open besides
map.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
map(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
file.close()"""


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "torch_1_2_3"
    made.write_bytes(bytes(4096))
    (tmp_path / "another program's").touch()
    return made


@pytest.mark.parametrize("way", [OPEN, MAPPED], ids=["open", "mapped"])
def test_what_another_process_holds_is_its_own_until_it_ends(file, way):
    code = f"{way.format(path=str(file))}\nprint('held', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        assert shared_memory([os.getpid()], file.parent) == set()
        assert shared_memory([os.getpid(), holder.pid], file.parent) == {file}
        with file.open():
            assert shared_memory([os.getpid()], file.parent) == {file}, "ours as well"
        holder.communicate("\n", timeout=60)
    assert shared_memory([os.getpid()], file.parent) == {file}, "left behind"
    file.unlink()
    assert shared_memory([os.getpid()], file.parent) == set()
