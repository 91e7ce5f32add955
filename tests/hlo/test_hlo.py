"""helpers.hlo: collectives read out of XLA's text, in every way in which it writes them; damaged text is refused."""

import random
from fractions import Fraction

import pytest

from helpers.hlo import HloError, parse_hlo_collectives, read_module

HEADER = "HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}, num_partitions=8\n"
ADD = """
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
"""
ALL = "replica_groups={{0,1,2,3,4,5,6,7}}"


def entry(*lines, more=""):
    body = "\n".join(f"  {line}" for line in lines)
    return f"{HEADER}{ADD}{more}\nENTRY %main (x: f32[8,4]) -> f32[8,4] {{\n  %x = f32[8,4]{{1,0}} parameter(0)\n{body}\n}}\n"


def only(*lines, more=""):
    found = parse_hlo_collectives(entry(*lines, more=more)).collectives
    assert len(found) == 1
    return found[0]


# operation, its line, bytes given, taken and sent on 8 devices with an input of 128 bytes
ONE = {
    "all_reduce": (f"f32[8,4]{{1,0}} all-reduce(%x), channel_id=1, {ALL}, to_apply=%add", 128, 128, 224),
    "all_gather": (f"f32[64,4]{{1,0}} all-gather(%x), channel_id=1, {ALL}, dimensions={{0}}", 128, 1024, 896),
    "reduce_scatter": (f"f32[1,4]{{1,0}} reduce-scatter(%x), {ALL}, dimensions={{0}}, to_apply=%add", 128, 16, 112),
    "all_to_all": (f"f32[8,4]{{1,0}} all-to-all(%x), {ALL}, dimensions={{0}}", 128, 128, 112),
    "send": ("f32[8,4]{1,0} collective-permute(%x), source_target_pairs={{0,1},{1,2},{2,0}}", 128, 128, 128),
}


@pytest.mark.parametrize("op", ONE)
def test_each_operation_with_its_bytes(op):
    line, given, taken, sent = ONE[op]
    found = only(f"ROOT %y = {line}")
    assert (found.op, found.given, found.taken, found.sent(0), found.times) == (op, given, taken, sent, 1)
    assert found.shapes == ("f32[8,4]",) and not found.asynchronous


def test_who_sends_in_a_permutation():
    found = only(f"ROOT %y = {ONE['send'][0]}")
    assert [found.sent(rank) for rank in range(5)] == [128, 128, 128, 0, 0]
    still = only("ROOT %y = f32[8,4]{1,0} collective-permute(%x), source_target_pairs={{0,0},{1,2}}")
    assert (still.sent(0), still.sent(1)) == (0, 128)


# The same two groups of four in three ways, and orders that only a transposition gives.
GROUPS = {
    "{{0,1,2,3},{4,5,6,7}}": ((0, 1, 2, 3), (4, 5, 6, 7)),
    "[2,4]<=[8]": ((0, 1, 2, 3), (4, 5, 6, 7)),
    "mesh['data'=2,'model'=4] {'model'}": ((0, 1, 2, 3), (4, 5, 6, 7)),
    "[4,2]<=[2,4]T(1,0)": ((0, 4), (1, 5), (2, 6), (3, 7)),
    "mesh['data'=2,'model'=4] {'data'}": ((0, 4), (1, 5), (2, 6), (3, 7)),
    "mesh['a'=2,'b'=2,'c'=2] {'a','c'}": ((0, 1, 4, 5), (2, 3, 6, 7)),
    "{}": ((0, 1, 2, 3, 4, 5, 6, 7),),
    # As JAX 0.10.2 writes what P("x", "y") to P("y", "x") takes on a mesh of 4 x 2: devices in another order, and a part of an axis.
    "mesh['axis_0'=2,'axis_1'=4], device_ids=([4,2]T(1,0)) {'axis_1'}": ((0, 2, 4, 6), (1, 3, 5, 7)),
    "mesh['axis_0'=2,'axis_1'=4], device_ids=([2,2,2]T(0,2,1)) {'axis_1':(2)2}": ((0, 2), (1, 3), (4, 6), (5, 7)),
    "mesh['a'=8] {'a':(2)2}": ((0, 2), (1, 3), (4, 6), (5, 7)),
    "mesh['a'=8] {'a':(1)2,'a':(4)2}": ((0, 1, 4, 5), (2, 3, 6, 7)),
}


@pytest.mark.parametrize("written", GROUPS)
def test_groups_in_every_way_that_they_are_written(written):
    line = f"ROOT %y = f32[8,4]{{1,0}} all-reduce(%x), channel_id=1, replica_groups={written}, to_apply=%add"
    found = only(line)
    nranks = len(GROUPS[written][0])
    assert found.groups == GROUPS[written] and found.nranks == nranks
    assert found.sent(7) == Fraction(2 * (nranks - 1), nranks) * 128


def test_several_tensors_in_one_call():
    found = only(
        "%z = f32[2]{0} constant({1, 2})",
        f"ROOT %y = (f32[8,4]{{1,0}}, f32[2]{{0}}) all-reduce(%x, /*index=1*/%z), {ALL}, to_apply=%add",
    )
    assert found.given == found.taken == 136 and found.shapes == ("f32[8,4]", "f32[2]")


def test_types_of_operands_may_stand_with_them():
    found = only(
        "%h = bf16[8,4]{1,0:T(8,128)(2,1)} convert(f32[8,4]{1,0} %x)",
        f"ROOT %y = bf16[8,4]{{1,0:T(8,128)(2,1)}} all-reduce(bf16[8,4]{{1,0}} %h), {ALL}, to_apply=%add",
    )
    assert found.given == 64 and found.shapes == ("bf16[8,4]",)


# in two halves, in a computation of its own, in loops ----------------------------------------------------------------
STARTED = {
    "all_gather": (
        f"%s = (f32[8,4]{{1,0}}, f32[64,4]{{1,0}}) all-gather-start(%x), {ALL}, dimensions={{0}}",
        "ROOT %y = f32[64,4]{1,0} all-gather-done(%s)",
    ),
    "all_reduce": (
        f"%s = f32[8,4]{{1,0}} all-reduce-start(%x), {ALL}, to_apply=%add",
        "ROOT %y = f32[8,4]{1,0} all-reduce-done(%s)",
    ),
    "send": (
        "%s = (f32[8,4]{1,0}, f32[8,4]{1,0}, u32[], u32[]) collective-permute-start(%x), source_target_pairs={{0,1}}",
        "ROOT %y = f32[8,4]{1,0} collective-permute-done(%s)",
    ),
}


@pytest.mark.parametrize("op", STARTED)
def test_two_halves_are_one_call(op):
    found = only(*STARTED[op])
    _, given, taken, sent = ONE[op]
    assert (found.op, found.given, found.taken, found.sent(0)) == (op, given, taken, sent) and found.asynchronous
    with pytest.raises(HloError, match="is started, and 0 instructions wait for it"):
        parse_hlo_collectives(entry(STARTED[op][0]))
    with pytest.raises(HloError, match="waits for no"):
        parse_hlo_collectives(entry(STARTED[op][1].replace("%s", "%x")))


WRAPPED = f"""
%wrapped (p: f32[8,4]) -> f32[1,4] {{
  %p = f32[8,4]{{1,0}} parameter(0)
  ROOT %r = f32[1,4]{{1,0}} reduce-scatter(%p), {ALL}, dimensions={{0}}, to_apply=%add
}}
"""


def test_an_operation_wrapped_to_run_beside_others():
    found = only(
        "%s = ((f32[8,4]{1,0}), f32[1,4]{1,0}, u32[]) async-start(%x), calls=%wrapped",
        "ROOT %y = f32[1,4]{1,0} async-done(%s)",
        more=WRAPPED,
    )
    assert (found.op, found.sent(0), found.times) == ("reduce_scatter", 112, 1)


LOOP = f"""
%body (p: f32[8,4]) -> f32[8,4] {{
  %p = f32[8,4]{{1,0}} parameter(0)
  ROOT %r = f32[8,4]{{1,0}} all-reduce(%p), {ALL}, to_apply=%add
}}

%condition (p: f32[8,4]) -> pred[] {{
  %p = f32[8,4]{{1,0}} parameter(0)
  ROOT %c = pred[] constant(true)
}}
"""
WHILE = "ROOT %y = f32[8,4]{1,0} while(%x), condition=%condition, body=%body"


def test_a_loop_counts_as_often_as_it_runs():
    found = only(WHILE + ', backend_config={"known_trip_count":{"n":"12"}}', more=LOOP)
    assert found.times == 12 and found.sent(0) == 12 * 224
    with pytest.raises(HloError, match="in a loop or a branch"):
        only(WHILE, more=LOOP)


def test_what_nobody_calls_runs_never_however_often_it_loops():
    dead = "%dead (p: f32[8,4]) -> f32[8,4] {\n  %x = f32[8,4]{1,0} parameter(0)\n  " + WHILE + "\n}\n"
    assert parse_hlo_collectives(entry("ROOT %y = f32[] constant(1)", more=LOOP + dead)).collectives == ()


def test_four_bits_are_half_a_byte():
    found = only(
        "%h = s4[8,4]{1,0} convert(%x)",
        "ROOT %y = s4[64,4]{1,0} all-gather(%h), " + ALL + ", dimensions={0}",
    )
    assert (found.given, found.taken) == (16, 128)


def test_an_all_reduce_takes_as_much_as_it_gives():
    with pytest.raises(HloError, match="gives 128 B among 8 devices and takes 64 B, expected 128"):
        only(f"ROOT %y = f32[4,4]{{1,0}} all-reduce(%x), {ALL}, to_apply=%add")


def test_a_computation_that_two_call_counts_twice():
    body = LOOP.replace("%body", "%twice").partition("\n%condition")[0]
    lines = "%a = f32[8,4]{1,0} call(%x), to_apply=%twice", "ROOT %y = f32[8,4]{1,0} call(%a), to_apply=%twice"
    assert only(*lines, more=body).times == 2
    branch = "ROOT %y = f32[8,4]{1,0} conditional(%x), branch_computations={%twice, %add}"
    with pytest.raises(HloError, match="in a loop or a branch"):
        only(branch, more=body)


def test_what_calls_itself_is_refused():
    body = "%round (p: f32[]) -> f32[] {\n  %p = f32[] parameter(0)\n  ROOT %r = f32[] call(%p), to_apply=%round\n}\n"
    with pytest.raises(HloError, match="round calls itself"):
        parse_hlo_collectives(entry("ROOT %y = f32[] constant(1)", more=body))


# damaged text -------------------------------------------------------------------------------------------------------
GOOD = entry(f"ROOT %y = {ONE['all_gather'][0]}")
DAMAGE = {
    "no header": (GOOD.removeprefix("HloModule"), "begins with HloModule"),
    "nothing": ("", "begins with HloModule"),
    "another text": ("module @jit_step {\n}\n", "begins with HloModule"),
    "cut off in the entry": (GOOD[:-3], "the text ends inside of main"),
    "cut off before the entry": (GOOD.partition("ENTRY")[0], "no computation is marked ENTRY"),
    "cut off in a line": (GOOD[: GOOD.index(", channel_id")], "the text ends inside of main"),
    "a bracket": (GOOD.replace("all-gather(%x)", "all-gather(%x"), "no opcode|bracket"),
    "no groups": (GOOD.replace(ALL + ", ", ""), "without replica_groups"),
    "a device twice": (GOOD.replace("6,7}", "6,6}"), "do not divide devices 0 to 7"),
    "a device missing": (GOOD.replace(",7}", "}"), "do not divide devices 0 to 7"),
    "other groups": (GOOD.replace(ALL, "replica_groups=[3,2]<=[8]"), "do not fit their own shape"),
    "groups of a kind unknown": (GOOD.replace(ALL, "replica_groups=@everybody"), "no groups of devices"),
    "unequal groups": (GOOD.replace("3,4", "3},{4"), "expected 512|unequal|gives 128"),
    "an axis unknown": (GOOD.replace(ALL, "replica_groups=mesh['a'=8] {'b'}"), "along .* of a mesh with the axes"),
    "one device": (GOOD.replace(", num_partitions=8", ""), "do not divide devices 0 to 0"),
    "no device": (GOOD.replace("num_partitions=8", "num_partitions=0"), "1 to 1,048,576 devices, .* says 0"),
    "devices beyond number": (GOOD.replace("num_partitions=8", "num_partitions=800000000000"), "says 800000000000"),
    "a number too long": (GOOD.replace("f32[64,", f"f32[{'6' * 5000},"), "a number of 5000 digits"),
    "numbers left out": (GOOD.replace(ALL, "replica_groups=[1,8]<=[,]"), "no groups of devices"),
    "more in a row than devices": (
        GOOD.replace(ALL, "replica_groups=[1,800000000000]<=[800000000000]"),
        "do not divide devices 0 to 7",
    ),
    "a larger mesh": (GOOD.replace(ALL, "replica_groups=mesh['a'=800000000000] {'a'}"), "do not divide devices 0 to 7"),
    "a part too large": (
        GOOD.replace(ALL, "replica_groups=mesh['a'=8] {'a':(4)4}"),
        "along .* of a mesh with the axes",
    ),
    "parts that cross": (
        GOOD.replace(ALL, "replica_groups=mesh['a'=8] {'a':(0)2}"),
        "along .* of a mesh with the axes",
    ),
    "parts that overlap": (
        GOOD.replace(ALL, "replica_groups=mesh['a'=8] {'a':(1)4,'a':(2)2}"),
        "parts of an axis that do not fit each other",
    ),
    "parts between factors": (
        GOOD.replace("num_partitions=8", "num_partitions=12").replace(
            ALL, "replica_groups=mesh['a'=12] {'a':(1)4,'a':(6)2}"
        ),
        "parts of an axis that do not fit each other",
    ),
    "devices of another mesh": (
        GOOD.replace(ALL, "replica_groups=mesh['a'=8], device_ids=([2,2]T(1,0)) {'a'}"),
        "are not those of 8",
    ),
    "an axis twice": (GOOD.replace(ALL, "replica_groups=mesh['a'=8] {'a','a'}"), "along .* of a mesh with the axes"),
    "nobody sends": (
        entry(f"ROOT %y = {ONE['send'][0]}".replace("{0,1},{1,2},{2,0}", "")),
        "no pairs of 8 devices",
    ),
    "a device beyond": (entry(f"ROOT %y = {ONE['send'][0]}".replace("{2,0}", "{2,8}")), "no pairs of 8 devices"),
    "replicas": (GOOD.replace("num_partitions=8", "replica_count=8"), "runs in 8 replicas"),
    "another size": (
        GOOD.replace("f32[64,4]{1,0} all", "f32[63,4]{1,0} all"),
        "gives 128 B .* takes 1008 B, expected 1024",
    ),
    "a type unknown": (GOOD.replace("%x = f32[8,4]", "%x = f33[8,4]"), "no type of a known size"),
    "an operand unknown": (GOOD.replace("all-gather(%x)", "all-gather(%w)"), "takes w, and no instruction"),
    "an instruction twice": (GOOD.replace("ROOT %y", "%x"), "x comes twice"),
    "a computation twice": (GOOD.replace(ADD, ADD + ADD), "add comes twice"),
    "a computation missing": (
        entry(f"ROOT %y = {ONE['all_reduce'][0]}").replace("to_apply=%add", "to_apply=%plus"),
        "calls plus, and no computation",
    ),
    "an operation unread": (
        GOOD.replace("all-gather(%x)", "ragged-all-to-all(%x)"),
        "ragged-all-to-all is not read here",
    ),
    "noise between": (GOOD.replace("\nENTRY", "\nwhatever\nENTRY"), "a computation begins here or nothing"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_text_is_refused(name):
    text, says = DAMAGE[name]
    assert text != GOOD
    with pytest.raises(HloError, match=says):
        parse_hlo_collectives(text)


def test_the_line_to_blame_is_named():
    text = GOOD.replace("all-gather(%x)", "all-gather(%w)")
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "all-gather" in one)
    with pytest.raises(HloError, match=rf"^line {line}: ") as error:
        parse_hlo_collectives(text)
    assert error.value.line == line


def test_no_cut_of_a_text_is_read_as_a_whole_one():
    """Wherever a text ends early, it is refused, or nothing that counts is missing."""
    whole, made = parse_hlo_collectives(GOOD), random.Random(7)
    for at in made.sample(range(len(GOOD)), 300):
        try:
            found = parse_hlo_collectives(GOOD[:at])
        except HloError:
            continue
        assert found == whole, GOOD[:at][-60:]


def test_tables_of_places_in_the_source_are_passed_over():
    tables = 'FileNames\n1 "step.py"\n\nFunctionNames\n1 "step"\n\nStackFrames\n1 {file_location_id=1}\n'
    text = GOOD.replace(HEADER, HEADER + "\n" + tables)
    assert parse_hlo_collectives(text).by_op() == {"all_gather": 1}


def test_questions_and_words():
    text = entry(f"%a = {ONE['all_reduce'][0]}", f"ROOT %y = {ONE['all_gather'][0]}")
    found = parse_hlo_collectives(text)
    assert (found.name, found.ndevices, found.by_op()) == ("jit_step", 8, {"all_reduce": 1, "all_gather": 1})
    assert found.sent(3) == 224 + 896 and found.sent(3, "all_gather") == 896 and found.ncalls() == 2
    first = "all_reduce of f32[8,4] in [0, 1, 2, 3, 4, 5, 6, 7]: 128 B given"
    assert str(found).splitlines()[0] == first
    assert str(parse_hlo_collectives(entry("ROOT %y = f32[] constant(1)"))) == "nothing"
    assert read_module(text).runs() == {"add": 1, "main": 1}
