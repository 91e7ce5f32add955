"""Tables as nccl-tests 2.17 and later prints them, from times that somebody published; and what a fault would make of them."""

from helpers.nccl import predict
from helpers.yours.published import bus_factor, published

NAMES = {
    "A100": "NVIDIA A100-SXM4-80GB",
    "H100": "NVIDIA H100 80GB HBM3",
    "H200": "NVIDIA H200",
    "B200": "NVIDIA B200",
    "GB200": "NVIDIA GB200",
    "L40S": "NVIDIA L40S",
}
PER_RANK = ("all_gather", "reduce_scatter")


def float_str(value, width):
    """As many digits behind the point as the column has room for (getFloatStr of nccl-tests)."""
    return next(text for digits in (2, 1, 0) if len(text := f"{value:{width}.{digits}f}") <= width)


def run(gpu, collective="all_reduce", nranks=8, version="2.29.2"):
    """The published run of nccl-tests of that name."""
    return next(
        one
        for one in published()
        if (one.gpu, one.collective, one.nranks, one.version) == (gpu, collective, nranks, version)
        and len(one.points) > 1
    )


def times(one):
    """{bytes: seconds} of a run."""
    return {point.nbytes: point.seconds for point in one.points}


def printed(gpu, collective, nranks, version, seconds, hosts=1):
    """The text of a run: header, devices, rows, average. seconds: {bytes: seconds}."""
    code = f"{int(version.split('.')[0])}{int(version.split('.')[1]):02}{int((version + '.0').split('.')[2]):02}"
    lines = [
        f"# nccl-tests version 2.17.9 nccl-headers={code} nccl-library={code}",
        f"# Collective test starting: {collective}_perf",
        f"# nThread 1 nGpus 1 minBytes {min(seconds)} maxBytes {max(seconds)} step: 2(factor) warmup iters: 1 iters: 20"
        " agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
    ]
    each = nranks // hosts
    lines += [
        f"#  Rank {r:2} Group  0 Pid  {9000 + r} on     node-{r // each} device {r % each:2} [0000:{6 + r:02x}:00] {NAMES[gpu]}"
        for r in range(nranks)
    ]
    lines.append(
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong"
    )
    lines.append(
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"
    )
    buses = []
    for nbytes, took in seconds.items():
        count = nbytes // 4 // (nranks if collective in PER_RANK else 1)
        redop = "none" if collective == "all_gather" else "sum"
        algbw = nbytes / took / 1e9
        busbw = algbw * bus_factor(collective, nranks)
        side = f"  {float_str(took * 1e6, 7)}  {float_str(algbw, 6)}  {float_str(busbw, 6)}       0"
        lines.append(f"{nbytes:12}  {count:12}     float  {redop:>6}      -1{side}{side}")
        buses.append(busbw)
    lines += ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {sum(buses) / len(buses):g} ", "#", ""]
    return "\n".join(lines)


def without(seconds, collective, machine, nranks, version, keeps):
    """Published times, slowed at each size by what the model says a setting costs there: its best of what is left over its choice."""
    made = {}
    for nbytes, took in seconds.items():
        lines = predict(collective, nbytes, machine, nranks, version).candidates
        left = next(line for line in lines if keeps(line))
        made[nbytes] = took * (left.corrected or left.raw) / (lines[0].corrected or lines[0].raw)
    return made
