"""The verdict on a machine's network ports, and on what perftest measured over them. Chapter: yours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from helpers.nccl.output.machine.perftest import Wire, parse_perftest
from helpers.nccl.output.machine.ports import SIGN as PORTS
from helpers.nccl.output.machine.ports import Port, parse_ports
from helpers.units import KIB, bandwidth_text, nbytes_text
from helpers.yours.causes import cause
from helpers.yours.places import Place
from helpers.yours.verdict import CLEAN, Cause, Verdict

NOMINAL = tuple(
    rate * 125e6 for rate in (10, 25, 40, 50, 56, 100, 200, 400, 800)
)  # ports that are sold, bytes per second one way
SETS = (4, 8, 16)
REACHED = 0.8  # of its port: a healthy card passes nine tenths and more
MOST = 64  # runs that are held against each other
OVER = 1.03  # a loopback never leaves the card, and may pass a little more than its port
LARGE = 64 * KIB  # what perftest sends where no size is asked for
WAYS = {True: "a GPU's memory", False: "memory of the host"}


def of_ports(text: str, told: Place | None) -> Verdict:
    """Which port is down, which is slower than its like, and whether a subnet manager runs."""
    ports = parse_ports(text)
    active = [port for port in ports if port.state == "active"]
    rates = Counter(port.rate for port in active if port.rate)
    said = ", ".join(
        f"{count} at {rate / 1e9:g} Gb/s ({bandwidth_text(rate / 8)} one way)" for rate, count in sorted(rates.items())
    )
    layers = " and ".join(sorted({port.layer for port in active if port.layer}))
    sentence = (
        f"{len(active)} of {len(ports)} ports are active"
        + (f", {said}" if said else "")
        + (f"; {layers}" if layers else "")
        + "."
    )
    machines = _machines(ports)
    found = (one for machine in machines for one in _of_ports(machine))
    causes = sorted({one.name: one for one in reversed(list(found))}.values(), key=lambda one: not one.accuses)
    where = f"{len(machines)} machines" if len(machines) > 1 else "a machine"
    what = f"{len(ports)} network port{'s' if len(ports) > 1 else ''} of {where}"
    return Verdict("machine", what, sentence, CLEAN, causes=tuple(causes))


def _machines(ports: Sequence[Port]) -> list[list[Port]]:
    """Another begins where a port comes again."""
    machines: list[dict[str, Port]] = [{}]
    for port in ports:
        machines += [{}] if port.name in machines[-1] else []
        machines[-1][port.name] = port
    return [list(one.values()) for one in machines]


def _of_ports(ports: Sequence[Port]) -> Iterator[Cause]:
    waiting = [port for port in ports if port.state in ("init", "armed")]
    if waiting:
        why = f"{_named(waiting)}: the wire is up and no subnet manager has made it active (opensm, or the switch's)"
        yield cause("port down", why)
    down = [port for port in ports if port.state not in ("active", "init", "armed")]
    missed = [port for port in down if _missed(port, ports)]
    if missed:
        state = f"{missed[0].state}, {missed[0].physical}" if missed[0].physical else missed[0].state
        yield cause(
            "port down",
            f"{_named(missed)}: {state}"
            + ("" if len(down) == len(ports) else ", while the others of its kind are active"),
        )
    elif down:
        why = f"{_named(down)}: {down[0].state}; a port that nobody uses looks like this, too"
        yield cause("port down", why, accuses=False)
    slow = [port for port in ports if port.rate and port.rate < _best(port, ports)]
    if slow:
        why = f"{_named(slow)}: {(slow[0].rate or 0) / 1e9:g} Gb/s, others of its kind {_best(slow[0], ports) / 1e9:g}"
        meant = not _lack(slow[0], ports)
        yield cause("slow port", f"{why}; cards for storage may be meant so" if meant else why, accuses=not meant)
    narrow = [port for port in ports if port.state == "active" and port.width == 1 and port.layer == "InfiniBand"]
    if narrow and not slow:
        yield cause("slow port", f"{_named(narrow)}: one lane of the cable's four")


def _alike(port: Port, ports: Sequence[Port]) -> list[Port]:
    """Active ports of cards of the same type and on the same layer, where these are told."""
    active = [one for one in ports if one.state == "active" and one.kind == port.kind]
    return [one for one in active if not one.layer or not port.layer or one.layer == port.layer]


def _missed(port: Port, ports: Sequence[Port]) -> bool:
    """Whether a port that is down should not be: none is up, or it is what 4, 8 or 16 of a kind lack. A spare one is down, too."""
    alike = len(_alike(port, ports))
    down = sum(1 for one in ports if one.kind == port.kind and one.state != "active")
    up = any(one.state == "active" for one in ports)
    return not up or (alike + down in SETS and 4 * down <= alike + down)


def _best(port: Port, ports: Sequence[Port]) -> float:
    return max((one.rate or 0.0 for one in _alike(port, ports)), default=0.0) if port.state == "active" else 0.0


def _lack(port: Port, ports: Sequence[Port]) -> bool:
    """Whether a slower port is what 4, 8 or 16 of a kind lack. Where the quick ones are as many, others serve something else."""
    alike = _alike(port, ports)
    quick = sum(one.rate == _best(port, ports) for one in alike)
    most = len(alike) * (0.5 if port.kind else 0.25)
    return len(alike) in SETS and quick not in SETS and len(alike) - quick <= most


def _named(ports: Sequence[Port]) -> str:
    return ", ".join(port.name for port in ports[:4]) + (f" and {len(ports) - 4} more" if len(ports) > 4 else "")


def of_wires(text: str, told: Place | None) -> Verdict:
    """What perftest passed, of what the port is; GPU's memory beside the host's, one card beside the others."""
    wires = parse_perftest(text)
    ports = {port.card: port.rate / 8 for port in parse_ports(text) if port.rate} if PORTS.search(text) else {}
    known = _port_of(told)
    what = f"{len(wires)} run{'s' if len(wires) > 1 else ''} of perftest over the network"
    said = " ".join(_said(wire, ports.get(wire.device) or known) for wire in wires[:4])
    causes = tuple(_of_wires(wires, ports, known))
    return Verdict("machine", what, said, CLEAN, causes=causes)


def _port_of(told: Place | None) -> float | None:
    return told.across.value * told.gpus / told.nics if told and told.across and told.nics else None


def _said(wire: Wire, port: float | None) -> str:
    size, rate = wire.best
    both = 2 if wire.both else 1
    ways = "both ways together" if wire.both else "one way"
    name = f"{wire.device or 'A card'} passes {bandwidth_text(rate)} {ways}, {8 * rate / 1e9:.0f} Gb/s,"
    name += f" to or from {WAYS[wire.gpu]} at {nbytes_text(size)}"
    if port:
        return f"{name}, {rate / (both * port):.0%} of its port."
    above = next((one for one in NOMINAL if one * both * OVER >= rate), None)
    return (
        f"{name}; the next port that is sold has {bandwidth_text(above)} one way, {rate / (both * above):.0%}."
        if above
        else f"{name}."
    )


def _of_wires(wires: Sequence[Wire], ports: dict[str, float], known: float | None) -> Iterator[Cause]:
    large = [wire for wire in wires if max(wire.rates) >= LARGE]
    if len(large) < len(wires):
        yield cause(
            "slow wire",
            f"messages below {nbytes_text(LARGE)} tell the start of a call, not the wire: ask for -a",
            accuses=False,
        )
    for wire in large:
        port = ports.get(wire.device) or known
        share = wire.best[1] / (port * (2 if wire.both else 1)) if port else 1.0
        if share < REACHED and port:
            why = f"{wire.device or 'the card'} passes {share:.0%} of its port's {bandwidth_text(port)} one way to or from {WAYS[wire.gpu]}"
            if wire.peak >= REACHED * port * (2 if wire.both else 1):
                said = f"{why} on average, and its port's rate at its peak: the start or another's traffic took the rest, so ask for -D 10"
                yield cause("slow wire", said, accuses=False)
            else:
                yield _told(wire, f"{why}, where a healthy one passes nine tenths")
            return
    yield from _beside(large[:MOST])


def _beside(wires: Sequence[Wire]) -> Iterator[Cause]:
    """Of runs alike but for the memory or the card, the one that is slower."""
    for wire in wires:
        host = [o.best[1] for o in wires if not o.gpu and (o.both, o.device) == (wire.both, wire.device)]
        if wire.gpu and host and wire.best[1] < REACHED * max(host):
            yield _told(
                wire,
                f"{wire.device or 'the card'} passes {wire.best[1] / max(host):.0%} of what it does with memory of the host",
            )
            return
        alike = [
            o.best[1]
            for o in wires
            if (o.both, o.gpu, o.verb) == (wire.both, wire.gpu, wire.verb) and o.device != wire.device
        ]
        if len(alike) > 1 and wire.best[1] < REACHED * median(alike):
            yield _told(wire, f"{wire.device} passes {wire.best[1] / median(alike):.0%} of what the others do")
            return


def _told(wire: Wire, why: str) -> Cause:
    found = cause("slow wire", why)
    return found._replace(repair="gpudirect-rdma") if wire.gpu else found
