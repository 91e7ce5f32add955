"""The server for readers: gzip, the right types, nothing outside its folder, a clear word when there is nothing to serve."""

import contextlib
import gzip
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from books import ROOT
from serving import served

from tools.serve import make_server


@pytest.fixture
def folder(tmp_path):
    """A built book of one page."""
    inside = tmp_path / "html"
    inside.mkdir()
    (inside / "index.html").write_text("<p>" + "bytes " * 500)
    (inside / "font.woff2").write_bytes(b"\x00\x01")
    (inside / "script.mjs").write_text("export {}")
    (tmp_path / "secret.txt").write_text("secret")
    return inside


def fetch(url: str, **headers: str):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10)


def test_text_is_gzipped_for_who_takes_it(folder):
    page = (folder / "index.html").read_bytes()
    with served(folder) as address:
        squeezed = fetch(f"{address}/index.html", **{"Accept-Encoding": "gzip"})
        assert squeezed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(squeezed.read()) == page
        assert fetch(f"{address}/index.html").read() == page


def test_types_that_browsers_insist_on(folder):
    with served(folder) as address:
        assert fetch(f"{address}/script.mjs").headers["Content-Type"] == "text/javascript"
        assert fetch(f"{address}/font.woff2").headers["Content-Type"] == "font/woff2"


def test_nothing_outside_the_folder(folder):
    with served(folder) as address, pytest.raises(urllib.error.HTTPError, match="404"):
        fetch(f"{address}/%2e%2e/secret.txt")


def test_only_this_machine(folder):
    with make_server(folder, port=0) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_taken_port_is_avoided_unless_asked_for(folder):
    with make_server(folder) as first, make_server(folder) as second:
        assert first.server_port != second.server_port
        with pytest.raises(OSError, match="in use"):
            make_server(folder, first.server_port)


def test_nothing_built_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="build the book first"):
        make_server(tmp_path)


def hears_ctrl_c() -> None:
    """In the child: a shell's background job, as CI may be, ignores SIGINT, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def taken():
    """Port 8000 is another program's, ours if nobody else has it."""
    with socket.socket() as listener, contextlib.suppress(OSError):
        listener.bind(("127.0.0.1", 8000))
        listener.listen()
        yield
        return
    yield


def words_of_make_book(folder, *options: str) -> list[str]:
    """The command by which `make book` serves, for another folder."""
    does = subprocess.run(
        ["make", "-C", ROOT, "-n", "book", *options], capture_output=True, text=True, check=True
    ).stdout
    (line,) = [line for line in does.splitlines() if "tools.serve" in line]
    _, *words = line.split()
    return [sys.executable, *(str(folder) if word == "_build/html" else word for word in words)]


def test_make_book_finds_a_free_port_when_its_own_is_taken(folder, taken):
    command = words_of_make_book(folder)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())[1])
            assert port != 8000 and fetch(f"http://127.0.0.1:{port}/index.html").status == 200
        finally:
            process.kill()


def test_a_port_that_was_asked_for_and_is_taken_is_one_line_with_the_remedy(folder, taken):
    command = words_of_make_book(folder, "PORT=8000")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == "serve: port 8000 is taken: name another (PORT= of make book), or none and any free one is used\n"
    )


def test_command_prints_the_address_and_ends_on_ctrl_c(folder):
    command = [sys.executable, ROOT / "tools" / "serve.py", folder, "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, preexec_fn=hears_ctrl_c, **pipes) as process:
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
            assert fetch(f"{address}index.html").status == 200
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=10)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize(("port", "said"), [("99999", "a number from 0 to 65535"), ("-1", "a number from 0 to 65535")])
def test_a_port_that_cannot_be_is_one_line(folder, port, said):
    command = words_of_make_book(folder, f"PORT={port}")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode and said in done.stderr.splitlines()[-1]
