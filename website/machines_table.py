"""Three generated tables: machines, the wires inside and between them, and the chips that wires end in. Every number is a fact.

```{machines} DGX-A100 HGX-H100 2x8-IB
```
```{wires} nvlink-4 pcie-5 infiniband-ndr
```
```{ports}
```
Without names a table has all there are.
"""

from docutils import nodes
from sphinx.application import Sphinx

from helpers.facts import FACTS, MACHINES, Fact, Machine
from helpers.facts.machine import NAMES, part_name
from website.hierarchy_table import AcceleratorsDirective, bandwidth, cited, head, note, table, text

EACH = ("link", "x16", "port")  # what one link of a wire is called in its facts' keys
WHOLE = ("chip", "card")  # and all ports of a chip together


def keys_of(*parts: str) -> tuple[str, ...]:
    """What has a fact of one of these names, by kind and then by generation: ("nvlink-2", "nvlink-3", ...)."""
    found = {key.removesuffix(f".{part}") for key in FACTS for part in parts if key.endswith(f".{part}")}
    kinds = list(NAMES)
    return tuple(sorted(found, key=lambda key: (kinds.index(key.split("-")[0]), key)))


WIRES, CHIPS = keys_of("gpu"), keys_of(*WHOLE)


class MachinesDirective(AcceleratorsDirective):
    """{machines} HGX-H100 2x8-IB: GPUs, what joins them in a node, and what leads out of it."""

    def tables(self) -> list[nodes.Node]:
        names = self.names(" ".join(self.arguments).split(), tuple(MACHINES))
        heads = ("Machine", "GPUs", "Inside, one way per GPU", "Joined by", "Out of a node or rack, one way per GPU")
        return [
            table("bim-machines", [[text(words)] for words in heads], [machine_row(MACHINES[name]) for name in names])
        ]


class WiresDirective(AcceleratorsDirective):
    """{wires} nvlink-4 pcie-5: a row per wire; one link, all links of a GPU, and what a vendor counts on in use."""

    def tables(self) -> list[nodes.Node]:
        names = self.names(" ".join(self.arguments).split(), WIRES)
        heads = ("Wire", "One link, one way", "Links per GPU", "One GPU, one way", "One GPU, both ways")
        heads += ("One link in use, one way",)
        said = "A slot or a port counts as one link. In use: what NCCL's source, or the vendor, counts on; a dash where none was read."
        return [
            table("bim-wires", [[text(words)] for words in heads], [wire_row(name) for name in names]),
            note(said),
        ]


class PortsDirective(AcceleratorsDirective):
    """{ports}: switch chips and network cards, all their ports together."""

    def tables(self) -> list[nodes.Node]:
        names = self.names(" ".join(self.arguments).split(), CHIPS)
        heads = ("Chip", "Ports for NVLinks", "All ports, one way", "All ports, both ways")
        return [table("bim-ports", [[text(words)] for words in heads], [ports_row(name) for name in names])]


def machine_row(machine: Machine) -> list[list[nodes.Node]]:
    """A cell per column; where a count is a fact, its source is one click away."""
    name = nodes.abbreviation("", machine.title, explanation=machine.note or machine.title)
    several = f"{machine.nodes} nodes of " if machine.nodes > 1 else ""
    gpus = f"{machine.gpus} {machine.accelerator}"
    counted = next((fact for fact in machine.facts if fact.key.endswith(".gpus")), None)
    return [
        [nodes.paragraph("", "", name)],
        [linked(gpus, counted, several) if counted else text(several + gpus)],
        [beside(f"{part_name(machine.wire)}, ", machine.gpu)] if machine.gpu else [text("–")],
        [text(joined(machine))],
        [linked(f"{machine.nics} × {part_name(machine.network)}", machine.port), share(machine)]
        if machine.network and machine.port
        else [text("–")],
    ]


def joined(machine: Machine) -> str:
    """What the GPUs of a node meet in."""
    if machine.shape == "switch":
        reach = f", {machine.domain} GPUs" if machine.domain > machine.gpus else ""
        return f"{part_name(machine.switch or 'a switch')}{reach}"
    if machine.shape == "mesh":
        return f"a link to each other GPU, {bandwidth(machine.pair)} one way"
    return "a bridge for every two, then PCIe" if machine.shape == "bridges" else "PCIe and the processors"


def share(machine: Machine) -> nodes.paragraph:
    """A GPU's part of the ports, derived."""
    if machine.across is None:
        return text("–")
    said = f"{bandwidth(machine.across)} a GPU"
    formula = f"{machine.nics} ports of {machine.port}, among {machine.gpus} GPUs"
    return nodes.paragraph("", "", nodes.abbreviation("", said, explanation=formula))


def wire_row(key: str) -> list[list[nodes.Node]]:
    one = next((FACTS[f"{key}.{part}"] for part in EACH if f"{key}.{part}" in FACTS), None)
    links, gpu = FACTS.get(f"{key}.links"), FACTS[f"{key}.gpu"]
    used = FACTS.get(f"{one.key}.achievable") if one else None
    both = FACTS.get(f"{key}.gpu.both")
    return [
        head(part_name(key)),
        shown(one),
        [linked(f"{links.value:g}", links)] if links else [text("–" if key.startswith("nvlink") else "1")],
        shown(gpu),
        shown(both) if both else [text(bandwidth(gpu.bandwidth.both_ways))],
        shown(used),
    ]


def ports_row(key: str) -> list[list[nodes.Node]]:
    whole = next(FACTS[f"{key}.{part}"] for part in WHOLE if f"{key}.{part}" in FACTS)
    ports, both = FACTS.get(f"{key}.ports"), FACTS.get(f"{whole.key}.both")
    return [
        head(part_name(key)),
        [linked(f"{ports.value:g}", ports)] if ports else [text("–")],
        shown(whole),
        shown(both) if both else [text(bandwidth(whole.bandwidth.both_ways))],
    ]


def shown(fact: Fact | None) -> list[nodes.Node]:
    return [cited(fact)] if fact else [text("–")]


def beside(words: str, fact: Fact) -> nodes.paragraph:
    """Words, then a fact with its source one click away."""
    return nodes.paragraph("", "", nodes.Text(words), *cited(fact).children)


def linked(words: str, fact: Fact, before: str = "") -> nodes.paragraph:
    """Words that lead to where they stand, behind some that do not."""
    said = f"{fact}: {fact.source_title}"
    link = nodes.reference("", words, refuri=fact.source_url, reftitle=said, classes=["bim-fact"])
    return nodes.paragraph("", "", nodes.Text(before), link)


def setup(app: Sphinx) -> dict[str, bool]:
    """All three directives."""
    app.add_directive("machines", MachinesDirective)
    app.add_directive("wires", WiresDirective)
    app.add_directive("ports", PortsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
