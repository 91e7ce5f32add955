"""What a machine's tools print, made by numbers: nvidia-smi, ibstat, perftest, p2pBandwidthLatencyTest, nvbandwidth."""

from __future__ import annotations

import json
from typing import NamedTuple

RULE = "+-----------------------------------------+------------------------+----------------------+"


class G(NamedTuple):
    """One GPU of nvidia-smi's table."""

    name: str = "NVIDIA H100 80GB HBM3"
    used: str = "1"
    total: str = "81559"
    util: str = "0%"
    state: str = "P0"
    power: str = "71W"
    cap: str = "700W"
    ecc: str = "0"
    mig: str = "Disabled"


def smi(gpus, processes=(), driver="550.54.15", cuda="12.4"):
    """Since 530: wide, with a row of MIG. processes: (gpu, name, MiB)."""
    rows = [f"| NVIDIA-SMI {driver}             Driver Version: {driver}      CUDA Version: {cuda}     |", RULE]
    rows += ["| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |"]
    for at, gpu in enumerate(gpus):
        rows.append(f"|   {at}  {gpu.name:<26}  On  |   00000000:{16 + at:02X}:00.0 Off | {gpu.ecc:>20} |")
        memory, power = f"{gpu.used:>7}MiB / {gpu.total:>6}MiB", f"{gpu.power:>15} / {gpu.cap:>5}"
        rows.append(f"| N/A   33C    {gpu.state:<3} {power} | {memory} | {gpu.util:>8}      Default |")
        rows += [f"|                                         |                        | {gpu.mig:>20} |", RULE]
    rows += ["| Processes:                                                                              |"]
    rows += [
        f"|    {at}   N/A  N/A     {4000 + n}      C   {name:<40} {mib:>6}MiB |"
        for n, (at, name, mib) in enumerate(processes)
    ]
    return "\n".join([RULE, *rows, RULE]) + "\n"


def old_smi(gpus, processes=()):
    """Before 450: narrow, no MIG, no GI and CI."""
    rows = ["| NVIDIA-SMI 418.87.00    Driver Version: 418.87.00    CUDA Version: 10.1     |"]
    for at, gpu in enumerate(gpus):
        rows.append(f"|   {at}  {gpu.name:<18}  Off  | 00000000:{16 + at:02X}:00.0 Off | {gpu.ecc:>20} |")
        rows.append(
            f"| N/A   33C    {gpu.state}    {gpu.power} / {gpu.cap} | {gpu.used:>6}MiB / {gpu.total}MiB | {gpu.util:>6}      Default |"
        )
    rows += [
        f"|    {at}     {4000 + n}      C   {name:<40} {mib:>6}MiB |" for n, (at, name, mib) in enumerate(processes)
    ]
    return "\n".join(rows) + "\n"


ROCM_HEAD = "Device  Node  IDs              Temp        Power     Partitions          SCLK     MCLK     Fan  Perf  PwrCap  VRAM%  GPU%  \n"
ROCM_ROW = "{0}       2     0x74a1,   47056  71.0°C      {1}W    NPS1, SPX, 0        {2}Mhz  1300Mhz  0%   {3}  {4}W  {5}%    {6}%   \n"
OLD_ROCM_HEAD = "GPU  Temp   AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
OLD_ROCM_ROW = "{0}    31.0c  {1}W   {2}Mhz  1600Mhz  0%   {3}  {4}W    {5}%   {6}%\n"


def rocm_smi(gpus, head=ROCM_HEAD, row=ROCM_ROW):
    """rocm-smi of ROCm 6. gpus: (power, clock, level, cap, memory, busy)."""
    return head + "".join(row.format(at, *gpu) for at, gpu in enumerate(gpus))


def old_rocm_smi(gpus):
    return rocm_smi(gpus, OLD_ROCM_HEAD, OLD_ROCM_ROW)


def query(
    active=(), gpus=2, limit="700.00", lanes="16x", ecc=0, fabric="Completed", remap="No", pending="No", old=False
):
    """nvidia-smi -q, the parts that are read. active: reasons on GPU 1."""
    names = [
        "Idle",
        "SW Power Cap",
        "HW Slowdown",
        "HW Thermal Slowdown",
        "HW Power Brake Slowdown",
        "SW Thermal Slowdown",
    ]
    text = "\n==============NVSMI LOG==============\n\nDriver Version                            : 570.86.10\n"
    for gpu in range(gpus):
        last = gpu == gpus - 1
        said = {name: "Active" if last and name in active else "Not Active" for name in names}
        reasons = "\n".join(f"        {name:<34}: {state}" for name, state in said.items())
        text += f"""GPU 00000000:{16 + gpu:02X}:00.0
    GPU Part Number                       : 2330-885-A1
    GPU Link Info
        Link Width
            Max                       : 16x
            Current                   : {lanes if last else "16x"}
    Clocks {"Throttle" if old else "Event"} Reasons
{reasons}
    Clocks Event Reasons Counters
        SW Power Capping                  : 33921903067 us
        HW Thermal Slowdown               : 12 us
    ECC Errors
        Volatile
            DRAM Uncorrectable        : {ecc if last else 0}
        Aggregate
            DRAM Uncorrectable        : 3
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 0
        Pending                           : {pending if last else "No"}
        Remapping Failure Occurred        : {remap if last else "No"}
    Fabric
        State                             : {fabric if last else "Completed"}
        Status                            : Success
    GPU Power Readings
        Current Power Limit               : {limit if last else "700.00"} W
        Default Power Limit               : 700.00 W
"""
    return text


def links(each, name="NVIDIA H100 80GB HBM3"):
    """nvidia-smi nvlink -s. each: of every GPU the rates of its links, None where one is off."""
    text = ""
    for gpu, rates in enumerate(each):
        text += f"GPU {gpu}: {name} (UUID: GPU-00000000-0000-0000-0000-00000000000{gpu})\n"
        text += "".join(
            f"\t Link {at}: {'<inactive>' if rate is None else f'{rate} GB/s'}\n" for at, rate in enumerate(rates)
        )
    return text


def link_errors(gpu, kind, count):
    """nvidia-smi nvlink -e."""
    text = f"GPU {gpu}: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-0000-0000-0000-000000000000)\n"
    return text + "".join(
        f"\t Link {at}: {one} Errors: {count if one == kind and at == 2 else 0}\n"
        for at in range(4)
        for one in ("Replay", "Recovery", "CRC")
    )


class P(NamedTuple):
    """One port."""

    card: str
    state: str = "Active"
    physical: str = "LinkUp"
    rate: int = 400
    sm: int = 1
    layer: str = "InfiniBand"
    kind: str = "MT4129"


def ports(count, **changed):
    """mlx5_0 ... with the last one changed."""
    made = [P(f"mlx5_{at}") for at in range(count)]
    return [*made[:-1], made[-1]._replace(**changed)] if made else []


IBSTAT = """CA '{card}'
	CA type: {kind}
	Number of ports: 1
	Port 1:
		State: {state}
		Physical state: {physical}
		Rate: {rate}
		Base lid: 7
		LMC: 0
		SM lid: {sm}
		Link layer: {layer}
"""
IBSTATUS = """Infiniband device '{card}' port 1 status:
	default gid:	 fe80::1
	base lid:	 0x7
	sm lid:		 0x{sm:x}
	state:		 4: {state}
	phys state:	 5: {physical}
	rate:		 {rate} Gb/sec (4X NDR)
	link_layer:	 {layer}

"""
DEVINFO = """hca_id:	{card}
	transport:			InfiniBand (0)
	vendor_part_id:			{kind}
	phys_port_cnt:			1
		port:	1
			state:			PORT_{state} (4)
			active_mtu:		4096 (5)
			sm_lid:			{sm}
			link_layer:		{layer}

"""


def ibstat(of):
    return "".join(IBSTAT.format(**port._asdict()) for port in of)


def ibstatus(of):
    return "".join(IBSTATUS.format(**port._replace(state=port.state.upper())._asdict()) for port in of)


def devinfo(of):
    return "".join(DEVINFO.format(**port._replace(state=port.state.upper())._asdict()) for port in of)


PERFTEST = """--------------------------------------------------------------------------------
                    {verb} {both}BW Test
 Dual-port       : OFF		Device         : {card}
 Number of qps   : 1		Transport type : IB
--------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[{unit}/sec]    BW average[{unit}/sec]   MsgRate[Mpps]
{rows}--------------------------------------------------------------------------------
"""


def perftest(rates, unit="Gb", card="mlx5_0", gpu=False, both=False, verb="RDMA_Write", peak=1.01):
    """ib_write_bw and its like. rates: the average by size, in the unit."""
    rows = [
        f" {size:<7}    5000         {rate * peak:<7.2f}         {rate:<7.2f}\t\t  0.70\n"
        for size, rate in rates.items()
    ]
    memory = "initializing CUDA\ncuMemAlloc() of a 131072 bytes GPU buffer\n" if gpu else ""
    way = "Bidirectional " if both else ""
    return memory + PERFTEST.format(verb=verb, both=way, card=card, unit=unit, rows="".join(rows))


def matrix(gpus, cell, corner="   D\\D"):
    head = corner + "".join(f"{to:6d} " for to in range(gpus))
    return (
        "\n".join(
            [head, *(f"{at:6d} " + "".join(f"{cell(at, to):6.02f} " for to in range(gpus)) for at in range(gpus))]
        )
        + "\n"
    )


def p2p(gpus=8, name="NVIDIA H100 80GB HBM3", on=lambda at, to: 390.0, off=40.0, access=1, quick=2.5, slow=20.0):
    """p2pBandwidthLatencyTest."""

    def table(title, cell, corner="   D\\D"):
        return f"{title}\n{matrix(gpus, lambda at, to: 2500.0 if at == to else cell(at, to), corner)}"

    head = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
    head += "".join(
        f"Device: {at}, {name}, pciBusID: {at + 16:x}, pciDeviceID: 0, pciDomainID:0\n" for at in range(gpus)
    )
    rows = [f"{at:6d}\t" + "".join(f"{1 if at == to else access:6d}" for to in range(gpus)) for at in range(gpus)]
    head += (
        "P2P Connectivity Matrix\n     D\\D" + "".join(f"{to:6d}" for to in range(gpus)) + "\n" + "\n".join(rows) + "\n"
    )
    return (
        head
        + table("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", lambda at, to: off)
        + table("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", on)
        + table("Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)", lambda at, to: 1.5 * off)
        + table("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", lambda at, to: 1.9 * on(at, to))
        + table("P2P=Disabled Latency Matrix (us)", lambda at, to: slow, "   GPU")
        + table("P2P=Enabled Latency (P2P Writes) Matrix (us)", lambda at, to: quick, "   GPU")
    )


def nvbandwidth(
    gpus=8, name="NVIDIA H100 80GB HBM3", between=lambda at, to: 390.0, host=lambda gpu: 55.3, as_json=False
):
    """One test of copies to GPUs, one between them."""
    ways = [["N/A" if at == to else f"{between(at, to):.2f}" for to in range(gpus)] for at in range(gpus)]
    tests = {
        "host_to_device_memcpy_ce": [[f"{host(gpu):.2f}" for gpu in range(gpus)]],
        "device_to_device_memcpy_read_ce": ways,
    }
    if as_json:
        cases = [
            {"name": test, "status": "Passed", "bandwidth_matrix": rows, "sum": 1.0} for test, rows in tests.items()
        ]
        devices = [f"{gpu}: {name} (00000000:{gpu + 16:02x}:00): (node-1)" for gpu in range(gpus)]
        return json.dumps(
            {"nvbandwidth": {"version": "v0.8", "GPU Device list": devices, "testcases": cases}}, indent=2
        )
    text = "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\nnode-1\n"
    text += "".join(f"Device {gpu}: {name} (00000000:{gpu + 16:02x}:00)\n" for gpu in range(gpus))
    for test, rows in tests.items():
        source = "CPU" if test.startswith("host") else "GPU"
        text += (
            f"\nRunning {test}.\nmemcpy CE {source}(row) -> GPU(column) bandwidth (GB/s)\n  "
            + "".join(f"{gpu:>10}" for gpu in range(gpus))
            + "\n"
        )
        text += (
            "".join(f"{at:>2}" + "".join(f"{cell:>10}" for cell in row) + "\n" for at, row in enumerate(rows))
            + f"\nSUM {test} 1.00\n"
        )
    return text
