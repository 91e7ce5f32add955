"""Everybody who runs a function on several ranks from a notebook, as data: the cells that a reader would write.

Each is given its best use. In a cell, {n} is the number of ranks, {ones} the tensor that they sum, and {product} whether that comes
from a product of matrices. What a cell prints may not hold a word of `FAILED`.
"""

from __future__ import annotations

from typing import NamedTuple

FAILED = ("❌", "Failed to start", "Timeout waiting")  # how launchers say it that print an error and raise none

ONES, PRODUCT = "torch.ones(4)", "(torch.ones(1000, 1000) @ torch.ones(1000, 1000))[0, :4] / 1000"
CELLS = ("imports", "prepare", "start", "again", "call", "reduce", "end")
FUNCTIONS = """
import os, tempfile
def nothing(*_): pass
def sums():
    import torch, torch.distributed as dist
    x = {ones}
    dist.all_reduce(x)
    return x[0].item()
"""


class Launcher(NamedTuple):
    """One of them. imports to end, and prepare, are cells; call and reduce fit on one line.

    again: end the ranks and begin new ones, up to the first sums. call, reduce: on ranks that are there. calls: how many of these
    to time. prepare: what a lab's first cell may say, so that the launcher gets ready in the background. whole: the notebook's
    kernel itself is the ranks, so starting them starts it, and a call is a cell.
    """

    name: str
    requirement: str  # of pip; "": torch or the course
    imports: str
    start: str
    again: str
    call: str
    reduce: str
    end: str = ""
    calls: int = 50
    whole: bool = False
    prepare: str = ""
    remark: str = ""

    def cells(self, n: int, product: bool = False) -> Launcher:
        """The same with its cells filled in, for n ranks. product: of a product of matrices on every rank."""
        given = {"n": n, "ones": PRODUCT if product else ONES, "product": product}
        return self._replace(**{name: getattr(self, name).format(**given) for name in CELLS})


OURS = Launcher(
    name="Ranks",
    requirement="",
    imports="from helpers.ranks import Ranks\n" + FUNCTIONS,
    start="r = Ranks({n}, backend='gloo')\nassert r.run(sums) == [{n}] * {n}",
    again="r.close()\nr = Ranks({n}, backend='gloo')\nassert r.run(sums) == [{n}] * {n}",
    call="r.run(nothing)",
    reduce="r.run(sums)",
    end="r.close()",
    calls=200,
    prepare="from helpers.ranks import world; world()",
    remark="has a server import torch, from which ranks are forked: when a notebook's first ranks start, or before, when its first "
    "cell calls world() as in a lab; so only that start is a cold one.",
)

_SPAWN = "with tempfile.TemporaryDirectory() as folder: mp.spawn(joined, ({n}, folder + '/store', {product}), {n})"
SPAWN = Launcher(
    name="mp.spawn",
    requirement="",
    imports="import tempfile, torch.multiprocessing as mp\nfrom benchmarks.work import joined, nothing",
    start=_SPAWN,
    again=_SPAWN,
    call="mp.spawn(nothing, nprocs={n})",
    reduce=f"exec({_SPAWN!r})",
    calls=1,
    remark="keeps no ranks, so every call is a launch; takes no function of the notebook's, only a module's.",
)

_FORK = (
    "with tempfile.TemporaryDirectory() as folder: "
    "notebook_launcher(launched, ({n}, folder + '/store', {product}), num_processes={n}, use_port='0')"
)
ACCELERATE = Launcher(
    name="notebook_launcher",
    requirement="accelerate==1.15.0",
    imports="import tempfile\nfrom accelerate import notebook_launcher\nfrom benchmarks.work import launched, nothing",
    start=_FORK,
    again=_FORK,
    call="notebook_launcher(nothing, num_processes={n}, use_port='0')",
    reduce=f"exec({_FORK!r})",
    calls=3,
    remark="keeps no ranks, so every call is a launch; forks the notebook, where torch is imported already: so its cold "
    "start is short, and impossible once the notebook has used CUDA or several threads; returns no results.",
)

_CLUSTER = """cluster = ipp.Cluster(n={n}, log_level=40)
view = cluster.start_and_connect_sync()[:]
with tempfile.TemporaryDirectory() as folder:
    view.map_sync(join, range({n}), [{n}] * {n}, [folder + '/store'] * {n})
assert view.apply_sync(sums) == [{n}] * {n}"""
IPYPARALLEL = Launcher(
    name="ipyparallel",
    requirement="ipyparallel==9.2.0",
    imports="import ipyparallel as ipp\n"
    + FUNCTIONS
    + """
def join(rank, n, store):
    import torch.distributed as dist
    dist.init_process_group('gloo', store=dist.FileStore(store, n), rank=rank, world_size=n)
""",
    start=_CLUSTER,
    again="cluster.stop_cluster_sync()\n" + _CLUSTER,
    call="view.apply_sync(nothing)",
    reduce="view.apply_sync(sums)",
    end="cluster.stop_cluster_sync()",
    remark="knows nothing of torch.distributed: the group is made by hand; one process of a controller and several of its own.",
)

# A cell is lost when its workers have not connected yet, so they are asked first. Its own %dist_reset ends every process of the
# machine whose command line holds a certain word, whoever started it: never used here, its workers are ended one by one.
_DISTRIBUTED = """ip = get_ipython()
ip.run_line_magic('dist_init', '-n {n}')
ip.run_line_magic('dist_mode', '--disable')
magics = ip.magics_manager.registry['DistributedMagic']
while True:
    try: magics._comm_manager.send_to_all('get_status', {{}}, timeout=0.2); break
    except TimeoutError: pass
ip.run_cell_magic('distributed', '', SUMS)"""
_END = "magics._comm_manager.shutdown()\nmagics._process_manager.shutdown()\nmagics._comm_manager = magics._process_manager = None"
NBDISTRIBUTED = Launcher(
    name="nbdistributed",
    requirement="nbdistributed==0.1.0",
    imports="get_ipython().run_line_magic('load_ext', 'nbdistributed')\n"
    "SUMS = 'x = {ones}; dist.all_reduce(x); assert x[0].item() == {n}'",
    start=_DISTRIBUTED,
    again=f"{_END}\n{_DISTRIBUTED}",
    call="ip.run_cell_magic('distributed', '', 'pass')",
    reduce="ip.run_cell_magic('distributed', '', SUMS)",
    end=_END,
    calls=10,
    remark="ends its own ranks by pkill -f, which hits any process of the machine; here they are ended by their ids.",
)

_SUMS = "x = {ones}; dist.all_reduce(x); assert x[0].item() == {n}"
JUPYTER_DISTRIBUTED = Launcher(
    name="jupyter-distributed",
    requirement="jupyter-distributed==0.1.1",
    imports="",
    start=f"import torch, torch.distributed as dist; dist.init_process_group('gloo'); {_SUMS}",
    again=f"import torch, torch.distributed as dist; dist.init_process_group('gloo'); {_SUMS}",
    call="pass",
    reduce=_SUMS,
    calls=30,
    whole=True,
    remark="the notebook's kernel becomes {n}: they start with it, a relaunch restarts it and loses all it held, a call is a cell "
    "(an ordinary kernel's empty cell, {empty}, is taken off).",
)

PEERS = (SPAWN, ACCELERATE, IPYPARALLEL, NBDISTRIBUTED, JUPYTER_DISTRIBUTED)
