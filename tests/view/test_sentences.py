"""What the player says of a step is true: every claim is read back from the sentence and counted in the schedule."""

import re
from collections import defaultdict

import pytest
from offer import catalogued

from helpers.collectives import Schedule
from helpers.memory.warps import BRANCHES
from helpers.view.shared.schedules.traces import as_data
from helpers.view.warp.widget import warp_sentence, warp_spec

PLACE = r"rank \d+|the switch|switch \d+|the registers of rank \d+"
EFFECT = r"which (?P<does>adds? (?:it|them)|keeps? (?:it|them)|adds? \d+ of them and keeps? \d+)"
DEED = re.compile(rf"(?P<src>{PLACE}) sends? (?P<what>.+?) to (?P<dst>{PLACE}), {EFFECT}")
UNIFORM = re.compile(
    r"every rank sends (?P<many>\d+|one|its) (?:chunks?|buffer) (?:to the (?P<next>next|one before)|(?P<far>\d+) ranks on), "
    rf"{EFFECT}: (?P<deed>rank .+), and so on"
)
TOGETHER = re.compile(r"(?P<who>.+?) sends?(?: (?P<messages>\d+) messages)? at once: (?P<deed>.+), and so on")


@pytest.fixture(scope="module")
def told(play) -> list[tuple[Schedule, list]]:
    """Every schedule of the offer with what is said of each of its steps."""
    schedules = catalogued()
    return list(zip(schedules, play("sentences", [as_data(s) for s in schedules]), strict=True))


def place(s: Schedule, words: str) -> int:
    """The id of a place: registers where there are as many places beyond the ranks as ranks, a switch or switches elsewhere."""
    number = int(words.split()[-1]) if words[-1].isdigit() else 0
    if words.startswith("rank"):
        return number
    assert words.startswith("the registers") == (s.nswitches == s.nranks), words
    assert (words == "the switch") == (s.nswitches == 1), words
    return s.nranks + number


def chunks(s: Schedule, words: str, dst: int) -> list[int] | None:
    """The chunks that are named; None for "its chunk for rank 3", which names a receiver."""
    if words == f"its chunk for rank {dst}":
        return None
    if words == "its whole buffer":
        assert s.nchunks == 1
        return [0]
    if words == "both chunks":
        assert s.nchunks == 2
        return [0, 1]
    if found := re.fullmatch(r"all (\d+) chunks", words):
        assert int(found[1]) == s.nchunks
        return list(range(s.nchunks))
    if found := re.fullmatch(r"chunks (\d+) to (\d+)", words):
        return list(range(int(found[1]), int(found[2]) + 1))
    assert re.fullmatch(r"chunks? [\d, and]+", words), words
    return [int(number) for number in re.findall(r"\d+", words)]


def taken(does: str, number: int) -> int:
    """How many of a message's chunks are added, by the words."""
    if found := re.search(r"(\d+) of them and keeps? (\d+)", does):
        assert int(found[1]) + int(found[2]) == number
        return int(found[1])
    assert does.endswith("it" if number == 1 else "them"), does
    return number if does.startswith("add") else 0


def flows(step) -> dict[tuple[int, int], list]:
    found = defaultdict(list)
    for transfer in step:
        found[transfer.src, transfer.dst].append(transfer)
    return found


def verify_deed(s: Schedule, step, words: str) -> tuple[int, int]:
    found = DEED.fullmatch(words)
    assert found, words
    src, dst = place(s, found["src"]), place(s, found["dst"])
    sent = flows(step)[src, dst]
    named = chunks(s, found["what"], dst)
    assert [t.chunk for t in sent] == (named or [src * s.nranks + dst]), words
    assert taken(found["does"], len(sent)) == sum(t.op == "reduce" for t in sent), words
    registers = found["dst"].startswith("the registers")
    assert bool(re.match("(add|keep) ", found["does"])) == registers, words
    return src, dst


def verify_uniform(s: Schedule, step, found: re.Match) -> None:
    sent = flows(step)
    src, dst = verify_deed(s, step, f"{found['deed']}, which {found['does']}")
    far = int(found["far"] or {"next": 1, "one before": s.nranks - 1}[found["next"]])
    assert sent.keys() == {(rank, (rank + far) % s.nranks) for rank in range(s.nranks)}
    many = {"one": 1, "its": 1}.get(found["many"]) or int(found["many"])
    assert {len(all_) for all_ in sent.values()} == {many} and (found["many"] == "its") == (s.nchunks == 1)
    assert len({sum(t.op == "reduce" for t in all_) for all_ in sent.values()}) == 1 and (dst - src) % s.nranks == far


def verify_together(s: Schedule, step, found: re.Match) -> None:
    sent = flows(step)
    verify_deed(s, step, found["deed"])
    senders = {src for src, _ in sent}
    ranks = {src for src in senders if src < s.nranks}
    said = re.findall(r"(?:the registers of )?\d+ ranks?|the switch|\d+ switch(?:es)?", found["who"])
    assert " and ".join(said) == found["who"]
    numbers = [int((re.search(r"\d+", words) or ["1"])[0]) for words in said]
    assert numbers == [n for n in (len(ranks), len(senders - ranks)) if n], found[0]
    assert any("registers" in words for words in said) == (s.nswitches == s.nranks and senders != ranks)
    assert int(found["messages"] or len(senders)) == len(sent)


def test_every_claim_about_a_step_is_counted_in_the_schedule(told):
    kinds = defaultdict(int)
    for s, steps in told:
        for step, (_, text) in zip(s.steps, steps, strict=True):
            if uniform := UNIFORM.fullmatch(text):
                kinds["uniform"] += 1
                verify_uniform(s, step, uniform)
            elif together := TOGETHER.fullmatch(text):
                kinds["together"] += 1
                verify_together(s, step, together)
            else:
                kinds["each"] += 1
                named = {verify_deed(s, step, words) for words in text.split("; ")}
                assert named == set(flows(step))
    assert min(kinds.values()) > 100 and len(kinds) == 3


def owners(s: Schedule) -> set[tuple[int, int]]:
    """(rank, chunk) of every sum that is handed on by a rank to which nobody handed it."""
    given, found = set(), set()
    for step in s.steps:
        copies = [t for t in step if t.op == "copy"]
        found |= {(t.src, t.chunk) for t in copies if (t.src, t.chunk) not in given}
        given |= {(t.dst, t.chunk) for t in copies}
    return found


def test_the_halves_of_an_all_reduce_are_what_its_chunks_do(told):
    named = set()
    for s, steps in told:
        halves = [lead.removeprefix(", ").split(" and ") for lead, _ in steps]
        if s.collective != "all_reduce" or s.nswitches or not owners(s):
            assert halves == [[""]] * len(steps)
            continue
        ranks, chunks = ({one[i] for one in owners(s)} for i in (0, 1))
        scattered = len(chunks) == len(owners(s)) and (len(ranks) > 2 or len(ranks) == s.nranks)
        up, down = ("reduce-scatter", "all-gather") if scattered else ("reduce", "broadcast")
        for step, said in zip(s.steps, halves, strict=True):
            ops = {t.op for t in step}
            assert said == [name for name, op in ((up, "reduce"), (down, "copy")) if op in ops]
        named.add((s.algorithm, up))
    assert {("ring", "reduce-scatter"), ("two-trees", "reduce"), ("double-tree", "reduce")} <= named
    assert ("recursive-doubling", "reduce-scatter") not in named, "it sends whole buffers"


ONE = re.compile(r"\b1 (?!pass\b|sends\b)[a-z]+s\b")


def test_one_of_a_thing_is_not_many(told):
    said = {text for _, steps in told for _, text in steps}
    branches = [warp_spec("branch", branch=branch) for branch in BRANCHES]
    loads = [
        warp_spec("memory", stride=n, offset=at, nbytes=w) for n in (0, 1, 2, 32) for at in (0, 4) for w in (2, 4, 8)
    ]
    said |= {
        warp_sentence(spec) for spec in (*branches, *loads, *(warp_spec("banks", stride=n) for n in (0, 1, 2, 32)))
    }
    assert {text for text in said if ONE.search(text)} == set()
    assert any("1 sector in 1 line," in text for text in said)
    assert warp_sentence(warp_spec("branch", branch="none")).startswith("No branch: the warp issues")
