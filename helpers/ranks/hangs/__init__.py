"""From the notes of all ranks to one error that a person can act on; `watch` for any torch.distributed job. Chapter: hangs.

Beside it what other tools say of a job that is stuck: torch's flight recorder and worker server, py-spy, NCCL's RAS.
"""

from .flight import flight_report
from .outside import ask_ras, ask_worker, open_door, stack
from .watching import main, watch

__all__ = ["ask_ras", "ask_worker", "flight_report", "main", "open_door", "stack", "watch"]
