"""Synthetic output of nccl-tests, for layouts of which no real text was found: -I 1, -S 1, -C 1 and -J.

The formats are those of src/util.cu at a0b82b2 (2.19.6): writeDeviceReport, writeResultHeader, writeBenchmarkLinePreamble,
getFloatStr, writeBenchmarkLineBody, writePerIterReport, writeResultFooter. The times are made up.
"""

import json

NRANKS, WORD = 4, 4
# size: µs out of place, in place
MADE = {1024: (20.125, 19.875), 1048576: (28.0625, 27.36), 1073741824: (4525.6, 4557.5)}
HEAD = (
    "# nccl-tests version 2.19.6 nccl-headers=23007 nccl-library=23007\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 4 minBytes 1024 maxBytes 1073741824 step: 1024(factor) warmup iters: 1 iters: 20 agg iters: 1"
    " validation: 1 graph: 0 unalign: 0\n#\n# Using devices\n"
)
CHECKED = ("#wrong", "algbw", "busbw")
SPREAD = ("i_min", "i_max", "i_p99", "i_cv%")


def float_str(value, width):
    """getFloatStr: as many digits behind the point as the column has room for."""
    for digits in (2, 1, 0):
        if len(text := f"{value:{width}.{digits}f}") <= width:
            return text
    return f"{value:{width}.1e}"


def rates(nbytes, microseconds):
    algbw = nbytes / microseconds / 1e3
    return algbw, algbw * 2 * (NRANKS - 1) / NRANKS


def average():
    buses = [rates(nbytes, time)[1] for nbytes, times in MADE.items() for time in times]
    return sum(buses) / len(buses)


def text(spread=False, stamps=False, clock="time"):
    """A run of all_reduce over four GPUs. spread: -I 1. stamps: -S 1. clock: "cputime" for -C 1."""
    names = (clock, "algbw", "busbw", "#wrong") + (SPREAD if spread else ())
    half = "".join(f"  {name:>{6 if name in CHECKED else 7}}" for name in names)
    stamp = f" {'timestamp':>19}" if stamps else ""
    lines = [
        f"#  Rank {r:2} Group  0 Pid  16629 on     node-1 device {r:2} [0000:{6 + r:02x}:00] NVIDIA H100"
        for r in range(4)
    ]
    lines.append(f"# {'size':>10}  {'count':>12}  {'type':>8}  {'redop':>6}  {'root':>6}{half}{half}{stamp}")
    lines.append(f"# {'(B)':>10}  {'(elements)':>12}  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)")
    for nbytes, times in MADE.items():
        head = f"{nbytes:12}  {nbytes // WORD:12}  {'float':>8}  {'sum':>6}  {-1:6}"
        sides = "".join(_half(nbytes, time, spread, clock) for time in times)
        lines.append(head + sides + ("  2026-07-09 10:00:00" if stamps else ""))
    lines += [f"# {'Out of bounds values':20} : 0 OK", f"# {'Avg bus bandwidth':20} : {average():g} ", "#"]
    return HEAD + "\n".join([*lines, "# Collective test concluded: all_reduce_perf", ""])


def _half(nbytes, time, spread, clock):
    algbw, busbw = rates(nbytes, time)
    shown = time / 2 if clock == "cputime" else time
    rest = "".join(f"  {float_str(value, 7)}" for value in (time, time, time, 0)) if spread else ""
    return f"  {float_str(shown, 7)}  {float_str(algbw, 6)}  {float_str(busbw, 6)}  {0:6g}{rest}"


def report():
    """The same run as -J writes it: doubles by %lf, root and booleans as texts, the first GPU alone among the devices."""
    device = {"rank": 0, "group": 0, "pid": 16629, "hostname": "node-1", "device": 0}
    device |= {"device_hex": "0000:06:00", "device_info": "NVIDIA H100"}
    config = {"nthreads": 1, "ngpus": 4, "minimum_bytes": 1024, "maximum_bytes": 1073741824, "step_factor": 1024}
    config |= {"warmup_iters": 1, "iterations": 20, "aggregated_iterations": 1, "validation": 1, "graph": 0}
    config |= {"blocking_collectives": "false", "parallel_init": "false", "devices": [device]}
    told = {
        "version": 3,
        "start_time": "2026-07-09 10:00:00",
        "args": ["./build/all_reduce_perf", "-g", "4"],
        "env": [],
    }
    told |= {"nccl_version": 23007, "config": config, "results": [_result(n, *times) for n, times in MADE.items()]}
    told |= {"out_of_bounds": {"count": 0, "okay": "true"}}
    told |= {"average_bus_bandwidth": {"bandwidth": average(), "okay": "unchecked"}, "errors": [""], "end_time": ""}
    return _by_printf(told)


def _result(nbytes, *times):
    told = {"size": nbytes, "count": nbytes // WORD, "type": "float", "redop": "sum", "root": "    -1"}
    for place, time in zip(("out_of_place", "in_place"), times, strict=True):
        algbw, busbw = rates(nbytes, time)
        told[place] = {"time": time, "alg_bw": algbw, "bus_bw": busbw, "nwrong": 0.0}
    return told | {"actual_iterations": 20, "experiment_name": ""}


def _by_printf(told):
    """JSON with every double as %lf prints it: six digits behind the point."""
    if isinstance(told, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_by_printf(value)}" for key, value in told.items()) + "}"
    if isinstance(told, list):
        return "[" + ",".join(map(_by_printf, told)) + "]"
    return f"{told:f}" if isinstance(told, float) else json.dumps(told)
