"""The step player: one schedule seen as a topology, as memory and as time. Chapters: intro, ring and every later collective."""

from __future__ import annotations

import traitlets

from helpers.collectives import Schedule
from helpers.view.player.spec import PlayerSpec, answer, last_step, player_spec
from helpers.view.player.text import player_html, player_sentence
from helpers.view.shared.schedules.named import What, built, resolve
from helpers.view.shared.schedules.traces import build, catalogue, links
from helpers.view.shared.widget import CourseWidget

__all__ = ["Player", "PlayerSpec", "build", "player", "player_html", "player_sentence", "player_spec", "resolve"]


class Player(CourseWidget):
    """One schedule, three linked views. In a kernel, Python answers every change of its controls with a new trace.

    `Player("all_reduce ring", nranks=4)`, `Player(schedule)`; nbytes: size as nccl-tests counts it; link: slug of `helpers.facts.LINKS`.
    slices, gpus: as in `resolve`; gpus, across, nics: nodes; versus: a second algorithm; recorded: a real run, all as in `player_spec`.
    """

    name = "player"
    spec = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    trace = traitlets.Dict().tag(sync=True)
    catalogue = traitlets.List().tag(sync=True)
    links = traitlets.List().tag(sync=True)

    def __init__(
        self,
        schedule_or_key: What = "all_reduce ring",
        *,
        nranks: int = 4,
        root: int | None = None,
        nchunks: int | None = None,
        slices: int | None = None,
        gpus: int | None = None,
        nbytes: int | str | None = None,
        link: str | None = None,
        step: int = 0,
        **state: object,
    ):
        schedule = resolve(schedule_or_key, nranks, root, nchunks, slices, gpus, nbytes, link)
        spec = player_spec(schedule, nbytes, link, step, gpus=gpus, **state)
        told = {"catalogue": catalogue(), "links": links()}
        super().__init__(spec=spec.as_json(), step=step, trace=answer(spec), **told)
        self._saved = spec  # what a saved notebook shows is what the cell asked for
        self.observe(self._answer, "spec")

    @property
    def schedule(self) -> Schedule:
        """The schedule on show, also after the reader chose another."""
        return built(PlayerSpec.read(self.spec))

    def _answer(self, change: dict) -> None:
        """A control changed: the new schedule's trace, or the reason why there is none."""
        try:
            self.trace = answer(PlayerSpec.read(change["new"]))
        except (ValueError, KeyError) as error:
            self.trace = {"error": str(error)}

    @traitlets.validate("step")
    def _valid_step(self, proposal: dict) -> int:
        last = last_step(PlayerSpec.read(self.spec)) if self.spec else 0
        if not 0 <= proposal["value"] <= last:
            raise traitlets.TraitError(f"step must lie in 0..{last}, got {proposal['value']}")
        return proposal["value"]

    def sentence(self) -> str:
        return player_sentence(self._saved)

    def html(self) -> str:
        return player_html(self._saved)


def player(schedule_or_key: What = "all_reduce ring", **options: object) -> Player:
    """The step player of a schedule: `player("all_reduce ring", nranks=4)`. Options as in `Player`."""
    return Player(schedule_or_key, **options)
