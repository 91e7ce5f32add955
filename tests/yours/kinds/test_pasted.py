"""What pages, editors, terminals and collectors of logs put around a text and into it changes no verdict."""

import html
import re
from pathlib import Path

import pytest
from yours.made_tables import run, times

from helpers.nccl.output.tables.cleaned import spaced, unwrapped
from helpers.yours import is_my_number_good
from helpers.yours.tables.printing import printed

FAULTS = Path(__file__).parents[1] / "faults"
TEXTS = {path.stem: path.read_text() for path in FAULTS.glob("*.txt") if path.name[:2] != "10"}  # a trace is a file
TEXTS["healthy"] = printed("H200", "all_reduce", 8, "2.29.2", times(run("H200")))


def before(front):
    """What puts `front` before every line; {} is its number."""
    return lambda text: "".join(f"{front.format(n)}{line}\n" for n, line in enumerate(text.splitlines(), start=1))


def at_80(text):
    return "\n".join(re.sub(r"(.{80})(?=.)", r"\1\n", line) for line in text.split("\n"))


AROUND = {
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "an old Mac": lambda text: text.replace("\n", "\r"),
    "a byte order mark": lambda text: f"\ufeff{text}",
    "NUL": lambda text: text.replace("\n", "\0\n"),
    "spaces without width": lambda text: text.replace("\n", "\u200b\n"),
    "spaces that do not break": lambda text: text.replace(" ", "\xa0"),
    "tabs": lambda text: re.sub(" {2,}", "\t", text),
    "the source of a page": lambda text: f"<pre><code>{html.escape(text)}</code></pre>",
    "entities for spaces": lambda text: html.escape(text).replace("  ", "&nbsp; "),
    "a fence": lambda text: f"<details>\n<summary>all</summary>\n\n```bash\n{text}\n```\n\n</details>\n",
    "a prompt": lambda text: f"user@node-0:~$ ./run -b 8\n{text}user@node-0:~$ ",
    "a question": lambda text: f"运行结果如下：\n{text}\n这个带宽正常吗？\n",
    "every line twice as far": lambda text: text.replace("\n", "\n\n"),
    "colours": before("\x1b[0;32m"),
    "a quotation": before("> "),
    "a quotation of one": before(">> "),
    "a clock": before("2026-01-02T03:04:05.123Z "),
    "containers' log": before("2026-01-02T03:04:05.123456789Z stdout F "),
    "journalctl": before("Mar 02 11:22:33 gpu-7 nccl[4211]: "),
    "kubectl": before("[pod/worker-0/nccl] "),
    "Ray": before("\x1b[36m(Worker pid=812, ip=10.0.0.3)\x1b[0m "),
    "mpirun": before("[1,0]<stdout>:"),
    "srun": before("12: "),
    "docker compose": before("trainer-1  | "),
    "torchrun": before("[default0]:"),
    "an editor": before("{:4d}  "),
    "grep -n": before("{}:"),
}


@pytest.mark.parametrize("around", AROUND)
def test_what_stands_around_a_text_changes_no_verdict(around):
    for name, text in TEXTS.items():
        found, plain = is_my_number_good(AROUND[around](text)), is_my_number_good(text)
        assert (found.what, found.accused) == (plain.what, plain.accused), name


@pytest.mark.parametrize(
    "name", ["06-collapse-at-large-sizes", "11-mi355x", "12-slow-init", "08-grace-topo", "healthy"]
)
def test_lines_that_a_terminal_broke_are_whole_again(name):
    found, plain = is_my_number_good(at_80(TEXTS[name])), is_my_number_good(TEXTS[name])
    assert (found.what, found.accused) == (plain.what, plain.accused)


def test_a_broken_message_of_memory_says_all_that_it_said():
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which"
        " 1.20 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated memory 70.10 GiB"
        " is allocated by PyTorch, and 5.00 GiB is reserved by PyTorch but unallocated."
    )
    assert is_my_number_good(at_80(text)) == is_my_number_good(text)


def test_whole_lines_of_one_length_stay_apart():
    lines = [
        "node-7:1:2 [0] NCCL INFO " + "x" * 60,
        "node-7:1:3 [1] NCCL INFO " + "y" * 60,
        "node-7:1:3 [1] NCCL INFO z",
    ]
    assert unwrapped("\n".join(lines), sure=True) == "\n".join(lines)


def test_labels_of_ranks_are_no_numbers_of_lines():
    text = "0: a\n1: b\n2: c\n2: d\n3: e\n"
    assert spaced(text) == text and spaced("7: a\n8: b\n9: c\n10: d\n") == "a\nb\nc\nd\n"
