"""The widget `choice`: what NCCL would choose for a call, every candidate over the size, and two versions beside each other.

The rules are those of `helpers.nccl.predict`; the page computes the same in JavaScript, tested equal. Chapter: choosing.
"""

from __future__ import annotations

import traitlets

from helpers.nccl import Candidate, Choice
from helpers.units import nbytes_text, seconds_text
from helpers.view.choice.asked import ChoiceSpec, choice_spec
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.widget import SpecWidget
from helpers.view.shared.words import column, counted

HARDLY = 0.5e-9  # seconds: less than what is shown


def way(one: Candidate) -> str:
    """ "Ring/LL128" """
    return f"{one.algorithm}/{one.protocol}"


def place(spec: ChoiceSpec) -> str:
    """ "4 GPUs of one HGX-B200", "64 GPUs in 8 HGX-H100"."""
    where = f"in {spec.nodes}" if spec.nodes > 1 else "of one"
    return f"{spec.nranks} GPUs {where} {spec.machine}"


def verdict(spec: ChoiceSpec) -> str:
    """Which candidate wins, and by what against the second."""
    chosen, lines = spec.chosen(), spec.estimates()
    first, *others = chosen.candidates
    asked = f"{spec.collective} of {nbytes_text(spec.nbytes)} on {place(spec)}"
    said = f"{asked}: NCCL {spec.version} takes {way(first)}, which it estimates at {seconds_text(first.raw)}."
    if not others:
        return said
    one, two = (lines[c.algorithm, c.protocol] for c in (first, others[0]))
    start, data = two.latency - one.latency, spec.nbytes / two.bandwidth - spec.nbytes / one.bandwidth
    begins = _by(start, "later", "earlier") or "as early"
    lasts = _by(data, "longer", "less") or "as long"
    return f"{said} The next, {way(others[0])}, begins {begins} and its bytes take {lasts}."


def _by(seconds: float, more: str, less: str) -> str:
    return "" if abs(seconds) < HARDLY else f"{seconds_text(abs(seconds))} {more if seconds > 0 else less}"


def on_a_clock(spec: ChoiceSpec, version: str) -> str:
    """What our model expects, and what a published run took."""
    expected, seen = spec.chosen(version).candidates[0].corrected, spec.measured(version)
    said = "No table of ours covers it" if expected is None else f"We expect {seconds_text(expected)} of it"
    return f"{said}; a published run took {seconds_text(seen)}." if seen is not None else f"{said}."


def compared(spec: ChoiceSpec) -> str:
    """The time of the choice, and the other version's."""
    mine, theirs = spec.chosen().candidates[0], spec.chosen(spec.beside).candidates[0]
    said = on_a_clock(spec, spec.version)
    if spec.beside == spec.version:
        return said
    same = "the same way" if way(mine) == way(theirs) else way(theirs)
    again = on_a_clock(spec, spec.beside)
    return f"{said} NCCL {spec.beside} takes {same}." + (f" {again}" if again != said else "")


def choice_sentence(spec: ChoiceSpec) -> str:
    """The verdict, the time, and the other version."""
    return f"{verdict(spec)} {compared(spec)}"


def choice_html(spec: ChoiceSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence and the candidates as a table."""
    found, lines = spec.chosen().candidates, spec.estimates()
    starts = [lines[c.algorithm, c.protocol].latency for c in found]
    parts = {
        "It begins after": starts,
        "Its bytes": [one.raw - start for one, start in zip(found, starts, strict=True)],
        "NCCL's estimate": [one.raw for one in found],
    }
    columns = [column(words, values, "s") for words, values in parts.items()]
    head = ("Candidate", "Blocks", *(words for words, _ in columns), "We expect")
    ours = ["–" if one.corrected is None else seconds_text(one.corrected) for one in found]
    names, blocks = [way(one) for one in found], [one.channels for one in found]
    rows = zip(names, blocks, *(cells for _, cells in columns), ours, strict=True)
    title = f"{counted(len(found), 'candidate')} of NCCL {spec.version}"
    return mount("choice", spec.as_json(), fallback(choice_sentence(spec), head, rows, title))


class ChoiceWidget(SpecWidget):
    """What NCCL would choose. `choice` is the answer now."""

    name = "choice"
    about = "a choice"
    spec_of, said, mounted = map(staticmethod, (choice_spec, choice_sentence, choice_html))
    nccl = traitlets.Dict().tag(sync=True)
    nccl_runs = traitlets.List().tag(sync=True)

    @property
    def choice(self) -> Choice:
        return ChoiceSpec.read(self.spec).chosen()


def explore_choice(machine: str = "HGX-H100", nbytes: int | str = "32 MiB", **asked: object) -> ChoiceWidget:
    """What NCCL would choose: `explore_choice("HGX-B200", "8 MiB", nranks=4, version="2.29.2", beside="2.28.9")`."""
    return ChoiceWidget(choice_spec(machine, nbytes, **asked))
