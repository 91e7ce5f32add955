"""Where in a text a name stands: of a host, a person, a job. Chapter: yours.

A name is known by the words around it; then it is hidden wherever it stands as a word. A word of the field that is also somebody's name
(a host called "node") is hidden only in those places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

NAME = r"(?<![\w.-])[A-Za-z0-9][\w.-]*"
HOST, USER, JOB, SECRET = "host", "user", "job", "secret"
_VERSION = r"v?\d[\w.]*(?![\w.-])"
_KEY = r"[\"']?[ \t]*[:=][ \t]*[\"']?"
_ONE = r"[\w.-]+(?:\[[\d,-]+\])?(?::\d+)?"
_LIST = rf"({_ONE}(?:,{_ONE})*)"
_LAUNCHERS = "srun|sbatch|salloc|SBATCH"
_DOMAINS = ".internal|.local|.lan|.corp|.intra|.svc|.edu|.amazonaws.com|.azure.com"
_SLURM = rf"\b(?:{_LAUNCHERS})\b[^\n]{{0,400}}?"
_SET = rf"(?:{_KEY}| set (?:by environment )?to )"
PLACES = (  # kind, what the text must have (one of these), and what stands around a name, or around several with commas
    (HOST, "] ", rf"({NAME}):\d{{1,10}}:\d{{1,10}} \[-?\d{{1,4}}\] "),  # NCCL
    (HOST, "Pid ", rf"\bPid +\d+ +on +({NAME}) +device\b"),  # nccl-tests
    (HOST, "Process ", rf"\bProcess \d+ \(({NAME})\): device\b"),  # nvbandwidth
    (HOST, "[", rf"\[({NAME}):\d+(?::\d+)*\] "),  # Open MPI, UCX
    (HOST, "]:", rf"\[({NAME})\]:\d+\b"),  # c10d's sockets
    (
        HOST,
        "on node |CANCELLED|error: ",
        rf"\bon node ({NAME}) exited\b|\bON ({NAME}) CANCELLED\b|\berror: ({NAME}): tasks?\b",
    ),
    (HOST, "", rf"^[A-Z][a-z]{{2}} +\d+ \d\d:\d\d:\d\d ({NAME}) (?:kernel|systemd|[\w.-]+\[\d+\]):"),  # syslog
    (HOST, "host|Host|ode", rf"\b(?:[Hh]ost(?:[Nn]ame)?|[Nn]ode ?[Nn]ame){_KEY}({NAME})"),
    (HOST, "MASTER_ADDR|HOST|_NODE", rf"\b(?:MASTER_ADDR|\w*HOST(?:NAME|ID)?|SLURM\w*_NODE(?:LIST|NAME)){_SET}{_LIST}"),
    (HOST, "--", rf"(?<!\S)--(?:hosts?|nodelist|rdzv[-_]endpoint|master[-_]addr)[ =]{_LIST}"),
    (HOST, "mpirun|mpiexec", rf"\bmpi(?:run|exec)\b[^\n]{{0,400}}? -(?:H|host) {_LIST}"),
    (HOST, _LAUNCHERS, rf"{_SLURM} -w {_LIST}"),
    (HOST, _DOMAINS, rf"({NAME}(?:{_DOMAINS.replace('.', '[.]')}))\b(?!\.\w)"),
    (HOST, "ip-", r"(?<![\w.-])(ip-\d+-\d+-\d+-\d+)\b"),
    (HOST, "@", rf"(?<![\w.+-])[\w.+-]+@((?!{_VERSION})[\w.-]+)"),
    (USER, "@", rf"(?<![\w.+-])([\w.+-]+)@(?!{_VERSION})\w"),
    (USER, "home|Users", r"/(?:home|Users)/([\w.@-]+)|\\Users\\+([\w.@-]+)"),
    (USER, "USER|LOGNAME|ser", rf"\b(?:(?:\w+_)?USER(?:NAME)?|LOGNAME|[Uu]ser(?:[Nn]ame)?){_KEY}({NAME})"),
    (USER, "uid=", rf"\buid=\d+\(({NAME})\)"),
    (JOB, "/", r"\b(?:pod|(?:pytorch|mpi|ray)?job|deployment|statefulset|namespace)(?:\.[\w.]+)?/([\w.-]+)"),
    (JOB, "kubectl", rf"\bkubectl (?:-n \S+ )?(?:exec|logs|attach)(?: -\w+)* ({NAME})"),
    (JOB, "kubectl", rf"\bkubectl\b[^\n]{{0,400}}? (?:-n|--namespace)[ =]({NAME})"),
    *((JOB, _LAUNCHERS, rf"{_SLURM} -{flag} ?({NAME})") for flag in "JAp"),
    (JOB, "--", rf"(?<!\S)--(?:job-name|account|partition|reservation)[ =]({NAME})"),
    (JOB, "=", rf"\b(?:JobName|Partition|Account)=({NAME})"),
    (
        JOB,
        "_",
        rf"\b(?:SLURM_JOB_(?:NAME|ACCOUNT|PARTITION)|(?:POD|JOB)_NAME(?:SPACE)?|WANDB_(?:PROJECT|ENTITY|NAME)){_KEY}({NAME})",
    ),
    (SECRET, "TOKEN|SECRET|PASSWORD|API_KEY", r"\b\w*(?:TOKEN|SECRET|PASSWORD|API_KEY)\w*=[\"']?([^\s\"']{4,})"),
)
_FOUND = tuple((kind, needs.split("|"), re.compile(pattern, re.MULTILINE)) for kind, needs, pattern in PLACES)
NOBODY = re.compile(  # names that are everybody's
    r"localhost|none|null|true|false|n/a|unknown|host|cpu|gpu|pinned|pageable|device|default\d*|root|ubuntu|ec2-user|nobody|admin|centos|opc"
    r"|azureuser|jovyan|runner|users?|stdout|stderr|rank\d+|(?:address|path|uuid|secret)-\d+",
    re.IGNORECASE,
)
COMMON = re.compile(  # words that a text of the field has anyway, or that may be numbers of a bus
    r"[\da-f]{1,4}|\w|(?:gpu|nic|mlx5_|eth|bond|ib)\d*|node|rank|worker|head|master|test|main|lab|nccl|rccl|info|warn|float|half|double|sum"
    r"|max|min|avg|prod|size|type|time|count|redop|error|train|cuda|torch|python|data|home|launcher|server|client|proxy|ring|tree|send|receive",
    re.IGNORECASE,
)

PLAIN = re.compile(r"[A-Za-z]{1,8}")  # behind "host:" may stand any word


class Told(NamedTuple):
    """A name, or another thing to hide, from where to where in the text. sure: it is no word that anybody may have written there."""

    start: int
    end: int
    kind: str
    name: str
    sure: bool = True


def told_in(text: str) -> Iterator[Told]:
    """Every place that says what a name is."""
    for kind, needs, pattern in _FOUND:
        for match in pattern.finditer(text) if any(word in text for word in needs) else ():
            group = match.lastindex or 0
            for start, name in _several(match[group]):
                if _is_name(name, kind):
                    at = match.start(group) + start
                    yield Told(at, at + len(name), kind, name, _KEY not in pattern.pattern or not PLAIN.fullmatch(name))


def _several(told: str) -> Iterator[tuple[int, str]]:
    """Of "node[1-4],node7:8" where each begins, and its name without the number of slots."""
    for found in re.finditer(r"(?:[^,\[]|\[[^\]]*\])+", told):
        name, _, slots = found[0].partition(":")
        yield found.start(), (name if slots.isdecimal() or not slots else found[0]).rstrip(".")


def _is_name(name: str, kind: str) -> bool:
    """Not a number, an address (which is hidden as such), a word for anybody, or a launcher's [rank3]."""
    if kind == SECRET:
        return True
    letters = any(one.isalpha() for one in name) if kind == HOST else name[:1].isalpha()
    return (letters or name.count("-") == 3) and not NOBODY.fullmatch(name)
