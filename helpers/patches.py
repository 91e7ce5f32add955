"""Every place where torch, or Python, is changed while it runs: what is replaced, why, and with which version it was last looked at.

No public hook serves these ends. A `Patch` has the only ways, so this table is whole (tests/test_patches.py
reads the library for others), and a new pin of torch is the moment to read each original again. Chapters: hangs, ranks, too-big.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

TORCH = "2.13.0"  # whose source every entry below was read in, and whose pin the tests run with; names of 2.11 are known, too


@dataclass(frozen=True)
class Patch:
    """what: the replaced names. why: what no hook of theirs tells. home: the module of ours whose functions stand in."""

    what: str
    why: str
    home: str

    def put(self, owner: object, name: str, stand_in: object) -> None:
        """`owner.name` is `stand_in` from now on. Raises AttributeError where there was nothing to replace."""
        getattr(owner, name)
        setattr(owner, name, stand_in)

    @contextmanager
    def during(self, owner: object, name: str, stand_in: object) -> Iterator[None]:
        """The same, taken back at the end."""
        with mock.patch.object(owner, name, stand_in):
            yield

    def of_operator(self, library: object, name: str, stand_in: object) -> None:
        """torch's operator is `stand_in` for meta tensors, under autograd, as long as that torch.library.Library lives."""
        library.impl(name, stand_in, "AutogradMeta")


NOTED = Patch(
    "torch.distributed's collectives, sends, receives and group functions; Work.wait",
    "a rank that hangs in C++ can say nothing: the note is written before the call",
    "helpers.ranks.hooks.noting",
)
FUNCTIONAL = Patch(
    "torch.distributed._functional_collectives' functions and wait_tensor",
    "DTensor calls these, and what waits for a result is a tensor",
    "helpers.ranks.hooks.functional",
)
REDUCER = Patch(
    "DistributedDataParallel.__init__; the operators c10d::* at the key Autograd, through torch.library",
    "the reducer issues its collectives from C++",
    "helpers.ranks.hooks.reducer",
)
CAPTURES = Patch(
    "torch.cuda.CUDAGraph.capture_begin and capture_end",
    "an event that is queried while a graph is captured ends the capture",
    "helpers.ranks.hooks.streams",
)
NETWORK = Patch(
    "isend, irecv, barrier, the collectives and object functions of torch.distributed; Work.wait; DistributedDataParallel.__init__",
    "every message gets the time when it is due, and what would pass at full speed is refused",
    "helpers.ranks.network.emulate",
)
JOINING = Patch(
    "torch.distributed.init_process_group",
    "`python -m helpers.ranks.hangs SCRIPT` watches a script that it does not change",
    "helpers.ranks.hangs.watching",
)
GENERATORS = Patch(
    "torch.utils._device.DeviceContext.__torch_function__",
    "where a rank's GPU is the default device, torch.randperm refuses a CPU's generator: no DataLoader could shuffle",
    "helpers.ranks.worker.joining",
)
MAIN = Patch(
    "multiprocessing.spawn.get_preparation_data",
    "a child would run the caller's script again; ours gets its functions by value",
    "helpers.ranks.pool.launch",
)
SPAWN = Patch(
    "multiprocessing.util.spawnv_passfds",
    "a kernel that is asked to end first ends what is in its process group by signals: the fork server could not clear up any more",
    "helpers.ranks.machine.server",
)
RESIZES = Patch(
    "torch.UntypedStorage.resize_",
    "FSDP frees and refills parameters by it, and no dispatcher sees it",
    "helpers.tracker.dispatch",
)
AUTOCAST = Patch(
    "the functions and methods that autocast casts for, in torch, torch.Tensor and torch.nn.functional; torch.autocast",
    "torch has no autocast for meta tensors",
    "helpers.step.autocasting",
)
CUDA_LIKE = Patch(
    "dropout, rms_norm, softmax and log_softmax of torch.nn.functional; torch._fused_adam_ and its like",
    "a CPU build takes apart what CUDA runs as one kernel, and a TorchFunctionMode is off inside nn.MultiheadAttention",
    "helpers.measure.predict.like_cuda",
)
COMPOSITE = Patch(
    "the operators aten::scaled_dot_product_attention and mish_backward at the key AutogradMeta, through torch.library",
    "on meta tensors torch takes them apart, also where a CPU or a GPU has a kernel, before any mode hears of them",
    "helpers.measure.predict.truer",
)
SAVED = Patch(
    "torch.autograd.graph.saved_tensors_hooks.__enter__; torch.utils.checkpoint's _VersionWrapper.__init__",
    "hooks that are entered inside hide ours, and selective checkpointing keeps its results beside autograd",
    "helpers.tracker.saved",
)
OPTIMIZERS = Patch(
    "torch.optim.Optimizer.add_param_group and zero_grad, unwrapped",
    "their wrapper imports torch.compile's machinery (0.9 s) only to say that it shall not look at them",
    "helpers.measure.predict.fast_meta",
)
ZEROING = Patch(
    "the zero_grad of one optimizer, not of its class",
    "torch has hooks for step, and none for zero_grad",
    "helpers.tracker.optimizers",
)
FAKE_RANKS = Patch(
    "in torch.distributed.fsdp._fully_shard: _get_device_handle, _get_device_from_mesh, FSDPParamGroup._validate_no_meta_params; "
    "torch.accelerator.current_stream",
    "FSDP2 takes meta tensors for parameters that are yet to come, and refuses to train them; a prediction has no others",
    "helpers.measure.sharding.fsdp2",
)
FORBIDDEN = Patch(
    "torch.distributed.all_reduce",
    "an exercise asks for it from its halves: the finished one is refused meanwhile",
    "helpers.exercises.primitives",
)
PATCHES = (NOTED, FUNCTIONAL, REDUCER, CAPTURES, NETWORK, JOINING, GENERATORS, MAIN, SPAWN)
PATCHES += (RESIZES, SAVED, AUTOCAST, CUDA_LIKE, COMPOSITE, OPTIMIZERS, ZEROING, FAKE_RANKS, FORBIDDEN)
