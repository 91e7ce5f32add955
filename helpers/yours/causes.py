"""The likely causes: what each is called, in which chapter it is explained, and which command confirms it. Chapter: yours."""

from __future__ import annotations

import re
from typing import NamedTuple

from helpers.yours.logs.known import KNOWN
from helpers.yours.verdict import Cause


class Kind(NamedTuple):
    """chapter: its stem. command: {program} is nccl-tests' of the reader's collective, {gpus} the number of ranks. repair: of Cause."""

    chapter: str
    command: str
    repair: str = ""
    accuses: bool = True


RUN = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS={subsystems} ./build/{{program}} -b {begin} -e {end} -f 2 -g {{gpus}} 2>&1"


def _run(subsystems: str, begin: str, end: str, looks: str) -> str:
    return f"{RUN.format(subsystems=subsystems, begin=begin, end=end)} | grep -E '{looks}'"


RAILS = "NCCL_TESTS_SPLIT='MOD {each}' ./build/{program} -b 1G -e 8G -f 2 -g {gpus}"
CHECKED = "python -m tools.gpu_check --only {}  # again, alone"


SNAPSHOT = "torch.cuda.memory._record_memory_history(); ...; torch.cuda.memory._dump_snapshot('memory.pickle')"
PROCESSES = "nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory,process_name --format=csv"
KINDS = {
    "wrong results": Kind("interconnects", "dmesg | grep -iE 'xid|nvlink|pcie'", "hardware"),
    "wrong path": Kind("interconnects", _run("INIT,GRAPH,NET", "8M", "8M", " via |Using network|NCCL_.* set"), "p2p"),
    "too few NICs": Kind(
        "interconnects", _run("INIT,GRAPH,NET", "8M", "8M", "via NET|NCCL_IB_HCA|NCCL_CROSS_NIC"), "gpudirect-rdma"
    ),
    "no GPUDirect RDMA": Kind(
        "interconnects", _run("INIT,NET,GRAPH", "8M", "8M", "via NET|GDRDMA|GPU Direct"), "gpudirect-rdma", False
    ),
    "slow rail": Kind(
        "hierarchy", f"{RAILS} -a 3  # and with -a 2: where the two differ, so do the rails", "slow-rail"
    ),
    "slow node": Kind(
        "hierarchy", "nvidia-smi -q -d CLOCK,PERFORMANCE; ibstat; dmesg | grep -iE 'xid|mlx5'  # there", "slow-rail"
    ),
    "narrow slot of a NIC": Kind(
        "interconnects", "lspci -d 15b3: -vv | grep -E '^[0-9a-f]|LnkSta:'", "slow-rail", False
    ),
    "colliding flows": Kind(
        "hierarchy", "mlxlink; ethtool -S  # on all nodes: congestion marks (ECN, CNP) beside the rate", "", False
    ),
    "several groups": Kind(
        "benchmarking", "./build/{program} -b 1G -e 8G -f 2 -g {gpus} -a 3  # split as before", "", False
    ),
    "beyond the wire": Kind("hierarchy", "NCCL_ALGO=Ring ./build/{program} -b 1G -e 8G -f 2 -g {gpus}", "", False),
    "few channels": Kind("inside-nccl", _run("INIT,ENV", "8M", "8M", "coll channels|CHANNELS|CTAS|CGA"), "settings"),
    "NVLS off": Kind("inside-nccl", _run("INIT,ENV,TUNING,NVLS", "1G", "1G", "NVLS|NCCL_ALGO|Algo"), "nvls"),
    "NVLS not worth it": Kind("inside-nccl", _run("TUNING", "1G", "1G", "Algo"), accuses=False),
    "LL128 off": Kind("inside-nccl", _run("INIT,ENV,TUNING", "1M", "64M", "NCCL_PROTO|proto|Algo"), "settings"),
    "only LL": Kind("inside-nccl", _run("INIT,ENV,TUNING", "1M", "64M", "NCCL_PROTO|proto|Algo"), "settings"),
    "only Simple": Kind("inside-nccl", _run("INIT,ENV,TUNING", "8", "1M", "NCCL_PROTO|proto|Algo"), accuses=False),
    "host-bound": Kind("benchmarking", "./build/{program} -b 8 -e 64K -f 2 -g {gpus} -G 20"),
    "slow link": Kind(
        "interconnects", "nvidia-smi topo -m; nvidia-smi nvlink -s; nvidia-smi -q -d PERFORMANCE", "clocks"
    ),
    "falls at large sizes": Kind("benchmarking", _run("INIT,ENV,TUNING", "64M", "8G", "Algo|NCCL_.* set"), "clocks"),
    "dip at middle sizes": Kind("benchmarking", _run("INIT,ENV,TUNING", "1M", "1G", "Algo|NCCL_.* set"), "settings"),
    "late small sizes": Kind("benchmarking", "./build/{program} -b 1K -e 4M -f 2 -g {gpus} -w 20 -n 200", "settings"),
    "unsteady sizes": Kind("benchmarking", "./build/{program} -b 1M -e 8G -f 2 -g {gpus} -n 100  # twice", "clocks"),
    "no machine": Kind("interconnects", "nvidia-smi -L; nvidia-smi topo -m", accuses=False),
    "no network": Kind("interconnects", "nvidia-smi topo -m; ibstat | grep -E 'CA |Rate|layer'", accuses=False),
    "average": Kind("benchmarking", "./build/{program} -b 8 -e 8G -f 2 -g {gpus}", accuses=False),
    "truncated log": Kind("inside-nccl", "NCCL_DEBUG=INFO NCCL_DEBUG_FILE=nccl.%h.%p.log"),
    "ignored setting": Kind("inside-nccl", "env | grep NCCL_; cat /etc/nccl.conf ~/.nccl.conf", "settings"),
    "slow init": Kind("inside-nccl", _run("INIT,PROFILE", "8", "8", "Init timings|Bootstrap timings"), "slow-init"),
    "no size finished": Kind("hangs", "NCCL_P2P_DISABLE=1 ./build/{program} -b 8 -e 8 -g {gpus}", accuses=False),
    "warning": Kind("hangs", "NCCL_DEBUG=WARN"),
    "far NIC": Kind("interconnects", "nvidia-smi topo -m; lspci -tv", "far-nic"),
    "no P2P": Kind("interconnects", "nvidia-smi topo -p2p r; nvidia-smi topo -p2p w", "p2p"),
    "port down": Kind("interconnects", "ibstat; ibdev2netdev; dmesg | grep -i mlx5", "slow-rail"),
    "slow port": Kind("interconnects", "ibstat | grep -E 'CA |Rate'; mlxlink -d CARD -c", "slow-rail"),
    "slow wire": Kind(
        "interconnects",
        "ib_write_bw -d CARD -a --report_gbits --use_cuda=GPU HOST; and without --use_cuda",
        "slow-rail",
    ),
    "clocks held down": Kind(
        "roofline", "nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE  # while it computes", "clocks"
    ),
    "power cap": Kind(
        "roofline", "nvidia-smi -q -d CLOCK,PERFORMANCE,POWER  # while it computes", "clocks", accuses=False
    ),
    "MIG": Kind("interconnects", "nvidia-smi -L", accuses=False),
    "GPU in error": Kind("hangs", "nvidia-smi -q -d ECC,ROW_REMAPPER; dmesg | grep -i xid", "hardware"),
    "links off": Kind("interconnects", "nvidia-smi nvlink -s; nvidia-smi nvlink -e; dmesg | grep -i xid", "hardware"),
    "driver": Kind("renting", "lsmod | grep nvidia; cat /proc/driver/nvidia/version; dmesg | grep -i nvrm", "versions"),
    "ranks disagree": Kind("hangs", "torchfrtrace FOLDER", "timeout"),
    "missing rank": Kind("hangs", "py-spy dump --pid PID", "timeout"),
    "no dump": Kind("hangs", "TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_FR_DUMP_TEMP_FILE=FOLDER/trace_", "timeout"),
    "all waiting": Kind("hangs", "nvidia-smi; dmesg | grep -i xid", "hardware"),
    "late rank": Kind(
        "reading-a-trace",
        "nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE  # on that rank's node, while it runs",
        "clocks",
    ),
    "data loading": Kind(
        "reading-a-trace", "DataLoader(dataset, num_workers=8, pin_memory=True, persistent_workers=True)"
    ),
    "small collectives": Kind("data-parallel", "DistributedDataParallel(model, bucket_cap_mb=100)"),
    "exposed communication": Kind(
        "data-parallel", "profile(activities=[CPU, CUDA], record_shapes=True)  # on every rank"
    ),
    "idle GPU": Kind("execution-model", "torch.compile(model, mode='reduce-overhead')"),
    "slow products": Kind(
        "roofline", "nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE  # while it computes", "clocks"
    ),
    "slow memory": Kind("memory-hierarchy", "nvidia-smi -q -d CLOCK,PERFORMANCE,ECC,ROW_REMAPPER", "hardware"),
    "narrow slot": Kind("interconnects", "nvidia-smi -q | grep -A 12 'GPU Link Info'", "hardware"),
    "slow pair": Kind("interconnects", "nvidia-smi topo -m; nvidia-smi nvlink -s", "hardware"),
    "failed checks of memory": Kind("training-memory", CHECKED.format("memory allocator segments optimizers")),
    "failed measurements": Kind("benchmarking", CHECKED.format("bandwidth roofline ladder host")),
    "failed checks of ranks": Kind("ranks", CHECKED.format("'ranks start'")),
    "fragmentation": Kind("allocator", "PYTORCH_ALLOC_CONF=expandable_segments:True", "fragmentation"),
    "out of memory": Kind("too-big", SNAPSHOT, "out-of-memory"),
    "private pool": Kind(
        "allocator", "{{s['segment_pool_id']: s['total_size'] for s in torch.cuda.memory_snapshot()}}", accuses=False
    ),
    "huge request": Kind("too-big", SNAPSHOT, "out-of-memory"),
    "other processes": Kind("training-memory", PROCESSES, "processes"),
    "ranks on one GPU": Kind("ranks", PROCESSES, "out-of-memory"),
    "memory fraction": Kind(
        "allocator", "grep -rnE 'memory_fraction|gpu_memory_utilization|PYTORCH.*ALLOC_CONF' .", "out-of-memory"
    ),
    "no room beside PyTorch": Kind(
        "training-memory",
        "nvidia-smi  # while it starts; then leave room: set_per_process_memory_fraction(0.9)",
        "out-of-memory",
    ),
    "host memory": Kind("too-big", "free -h; cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory.current", "killed"),
    "killed": Kind(
        "ranks", "sudo dmesg -T | grep -iE 'killed process|out of memory'; cat /sys/fs/cgroup/memory.events", "killed"
    ),
    "aborted": Kind("hangs", "grep -nE 'what\\(\\):|terminate called|Watchdog caught' LOG | head", "killed"),
    "bus error": Kind("ranks", "df -h /dev/shm; docker run --shm-size=16g ...", "shared-memory"),
    "crashed": Kind("ranks", "python -X faulthandler TRAIN.py  # with torchrun: PYTHONFAULTHANDLER=1", "versions"),
    "terminated": Kind("ranks", "sacct -j JOB --format=JobID,State,ExitCode,Elapsed,Timelimit", "killed"),
    "not started": Kind("ranks", "head -n 1 SCRIPT; which python; python TRAIN.py --help", "settings"),
    "Python exception": Kind(
        "ranks", "grep -n -A 30 Traceback LOG  # of that rank; @record on main puts it into torchrun's table", ""
    ),
    "peer ended": Kind("hangs", "grep -lE 'Error|Killed|Signal' LOGS_OF_ALL_RANKS", "timeout", accuses=False),
    "no rendezvous": Kind("ranks", "nc -zv MASTER_ADDR MASTER_PORT  # from the machine that waits", "sockets"),
    "port taken": Kind("ranks", "ss -ltnp | grep PORT", "settings"),
    "CUDA error": Kind("execution-model", "CUDA_LAUNCH_BLOCKING=1 python TRAIN.py  # or compute-sanitizer", "versions"),
    "GPU fault": Kind("memory-hierarchy", "sudo dmesg -T | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER", "hardware"),
    "stuck watchdog": Kind("hangs", "py-spy dump --native --pid PID", "timeout"),
    "not taken down": Kind(
        "ranks", "dist.destroy_process_group()  # at the end of every rank", "settings", accuses=False
    ),
    "no device": Kind(
        "ranks", "init_process_group(device_id=torch.device('cuda', local_rank))", "settings", accuses=False
    ),
} | {one.name: Kind(one.chapter, one.check, one.repair, not one.mild) for one in KNOWN}


def cause(
    name: str,
    why: str,
    program: str = "all_reduce_perf",
    gpus: int | None = None,
    accuses: bool | None = None,
    hosts: int = 1,
    repair: str | None = None,
) -> Cause:
    """One of KINDS with the reader's own numbers. hosts: on several, mpirun starts a rank a GPU. accuses, repair: where not the kind's."""
    kind = KINDS[name]
    each = max(1, (gpus or 8) // max(1, hosts))
    command = kind.command if hosts < 2 or not gpus else _by_mpirun(kind.command, each)
    command = command.format(program=program, gpus=gpus or 8, each=each)
    return Cause(
        name,
        why,
        kind.chapter,
        command,
        kind.accuses if accuses is None else accuses,
        kind.repair if repair is None else repair,
    )


def _by_mpirun(command: str, each: int) -> str:
    """What runs nccl-tests, on several hosts; other commands as they are."""
    if "./build/" not in command:
        return command
    told = re.sub(r"\b(NCCL_[A-Z_]+=)", r"-x \1", command).replace("-g {gpus}", "-g 1")
    return f"mpirun -np {{gpus}} -N {each} {told}"
