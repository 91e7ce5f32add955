"""Python in the page, before a cell or a widget uses it: it starts from a folder and over http, answers in order, stops, tries again."""

import io
import socket
import zipfile

import pytest
from lanes import some

from website import python

START = 'BytesInMotion.load("python.js")'
ASK = f"async ([path, args]) => {{ await {START}; return BytesInMotion.python.ask(path, ...args); }}"
PLAIN = "book/plain.html"
LONG_MS = 60_000  # a start takes 2 to 3 s


def ask(page, path, *args):
    """What Python answers: {"value": ...} or {"error": ...}."""
    page.set_default_timeout(LONG_MS)
    return page.evaluate(ASK, [path, args])


@pytest.fixture(scope="module")
def page(browser, sample_address):
    """One page for those who ask nothing of how it begins: a start takes seconds."""
    context = browser.new_context()
    found = context.new_page()
    found.goto(f"{sample_address}/{PLAIN}")
    yield found
    context.close()


def test_a_page_that_asks_nothing_loads_no_python(address, open_page):
    page, watch = open_page(address("sample"), PLAIN)
    page.wait_for_load_state("networkidle")
    assert [url for url in watch.asked if "python" in url] == []


@pytest.mark.parametrize(
    "folder", some([False, True], [True], "Python in a page from a server"), ids=["http", "folder"]
)
def test_the_library_answers_in_the_page(folder, sample, address, open_page):
    page, watch = open_page(sample.as_uri() if folder else address("sample"), PLAIN)
    assert ask(page, "json:dumps", [1, None, {"a": "ä⇒"}]) == {"value": [1, None, {"a": "ä⇒"}]}
    phases = page.evaluate(
        """async () => {
          const heard = [];
          const end = BytesInMotion.python.watch((state) => heard.push(state));
          await BytesInMotion.python.ask("json:dumps", 1);
          end();
          return heard;
        }"""
    )
    assert [one["phase"] for one in phases] == ["ready", "busy", "ready"]
    assert phases[0]["loaded"] == phases[0]["total"] == sum(len(s) for p, s in files() if p != "python/parts.js")
    assert phases[0]["from"] == ("this folder" if folder else page.evaluate("location.host"))
    watch.assert_clean(PLAIN)


def files():
    return python.python_files().items()


def test_errors_are_pythons_and_the_interpreter_lives_on(page):
    answer = ask(page, "helpers.units:parse_nbytes", "3 potatoes")
    assert answer["error"].startswith("UnitError: ")
    assert "3 potatoes" in answer["error"], "the library's own words"
    assert ask(page, "json:dumps", "still here") == {"value": "still here"}


def test_bytes_arrive_as_bytes(page):
    page.evaluate(START)
    found = page.evaluate('BytesInMotion.python.ask("json:dumps", new Map([["a", [new Uint8Array(2)]]]))')
    assert found == {"error": "TypeError: Object of type bytes is not JSON serializable"}


def test_stop_ends_what_never_ends_and_python_is_there_again(address, open_page):
    page, watch = open_page(address("sample"), PLAIN)
    ask(page, "json:dumps", 1)
    stopped = page.evaluate(
        """async () => {
          const { python } = BytesInMotion;
          const slow = python.ask("time:sleep", 1e6);
          const behind = python.ask("json:dumps", 2);
          await new Promise((begun) => python.watch(({ phase }) => phase === "busy" && begun()));
          let ticks = 0; // of the page's own: a machine that stands still is no stop that takes long
          const clock = setInterval(() => ticks++, 50);
          python.stop();
          const told = await Promise.all([slow, behind]);
          clearInterval(clock);
          return { told, ticks, after: await python.ask("json:dumps", 3) };
        }"""
    )
    assert stopped["told"] == [{"error": "Stopped", "stopped": True}] * 2
    assert stopped["after"] == {"value": 3}
    assert stopped["ticks"] < 5 * 300 / 50
    watch.assert_clean(PLAIN)


def test_what_is_printed_before_a_silent_loop_is_seen(page):
    ask(page, "json:dumps", 1)
    seen = page.evaluate(
        """() => new Promise((seen) => {
          const { python } = BytesInMotion;
          let all = "";
          const text = (more) => (all += more).endsWith("nine\\n") && (python.stop(), seen(all));
          python.run("print('first')", "one", { text });
          python.run("print('eight')\\nprint('nine')\\nwhile True: pass", "two", { text });
        })"""
    )
    assert seen == "first\neight\nnine\n"


def test_an_interpreter_that_ended_is_noticed_and_another_one_answers(page):
    """Played: the name by which Pyodide tells it is called, and nothing is hurt."""
    played = ask(page, "builtins:exec", "import pyodide_js; pyodide_js._api.on_fatal('played')")
    assert played == {"error": "Python broke off, and all names are gone: played"}
    assert ask(page, "sys:exit", 3) == {"error": "SystemExit: 3"}
    assert ask(page, "json:dumps", 4) == {"value": 4}


def test_a_start_that_fails_is_said_and_tried_again(address, open_page):
    page, _ = open_page(address("sample"), PLAIN)
    page.route("**/python/wasm-*", lambda route: route.abort())
    answer = ask(page, "json:dumps", 1)
    assert answer["error"].startswith("Python could not be started: python/wasm-")
    assert page.evaluate("new Promise((told) => BytesInMotion.python.watch(({ phase }) => told(phase)))") == "failed"
    page.unroute("**/python/wasm-*")
    assert ask(page, "json:dumps", 2) == {"value": 2}


def test_the_worker_reaches_no_other_host(page):
    """It stands under the rules of its page: nobody knocks."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.setblocking(False)
        url = f"http://127.0.0.1:{other.getsockname()[1]}/"
        assert "NetworkError" in ask(page, "pyodide.http:open_url", url)["error"]
        with pytest.raises(BlockingIOError):
            other.accept()


@pytest.mark.firefox
def test_python_answers_in_firefox_from_a_folder(sample, open_in_firefox):
    page, watch = open_in_firefox(sample.as_uri(), PLAIN)
    assert ask(page, "json:dumps", [1]) == {"value": [1]}
    watch.assert_clean(PLAIN)


def test_the_zip_holds_what_its_list_names_and_is_the_same_each_time():
    assert python.library() == python.library()
    with zipfile.ZipFile(io.BytesIO(python.library())) as held:
        names = held.namelist()
    assert {"helpers/units.py", "helpers/facts/links.toml", "assets/tokens.json"} <= set(names)
    assert not [name for name in names if name.startswith(("helpers/ranks", "helpers/measure", "helpers/parallel"))]


def test_another_pyodide_that_reads_otherwise_is_refused(tmp_path, monkeypatch):
    (tmp_path / "pyodide.asm.mjs").write_text("export default other;")
    monkeypatch.setattr(python, "PYODIDE", tmp_path)
    with pytest.raises(ValueError, match="holds no 'export default _createPyodideModule;'"):
        python.interpreter()
