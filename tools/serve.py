"""Serve the built book on this machine only, gzipped as a web server would: python tools/serve.py [FOLDER] [--port N]."""

from __future__ import annotations

import argparse
import errno
import gzip
import io
import sys
from functools import lru_cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HOST = "127.0.0.1"
NO_PORT = {errno.EADDRINUSE: "is taken", errno.EACCES: "is not for this user"}
SQUEEZED = ("text/", "application/javascript", "application/json", "image/svg+xml")


@lru_cache(maxsize=512)
def squeezed(path: str, changed: int) -> bytes:
    """The file, gzipped once for each time that it changed (nanoseconds, part of the cache's key)."""
    return gzip.compress(Path(path).read_bytes(), compresslevel=6, mtime=0)


class GzipHandler(SimpleHTTPRequestHandler):
    """Files of one folder; text compressed for those who accept it; no log line per request."""

    protocol_version = "HTTP/1.1"
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript", ".mjs": "text/javascript", ".woff2": "font/woff2", ".ipynb": "application/json",
    }  # fmt: skip

    def send_head(self) -> io.BufferedIOBase | None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() and self.path.endswith("/") else path
        kind = self.guess_type(str(path))
        if not (path.is_file() and kind.startswith(SQUEEZED) and "gzip" in self.headers.get("Accept-Encoding", "")):
            return super().send_head()
        body = squeezed(str(path), path.stat().st_mtime_ns)
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Content-Encoding": "gzip", "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        return io.BytesIO(body)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """A reader wants the address, not a line for each file."""


def make_server(folder: Path, port: int | None = None) -> ThreadingHTTPServer:
    """A server for `folder`, bound to 127.0.0.1; without a port: 8000, or any free one. FileNotFoundError if nothing is built."""
    if not (folder / "index.html").is_file():
        raise FileNotFoundError(f"{folder} holds no index.html: build the book first (make book SERVE=0)")
    handler = partial(GzipHandler, directory=str(folder))
    if port is not None:
        return ThreadingHTTPServer((HOST, port), handler)
    try:
        return ThreadingHTTPServer((HOST, 8000), handler)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return ThreadingHTTPServer((HOST, 0), handler)


def port_number(text: str) -> int:
    """Of the command line; its errors are argparse's."""
    if not 0 <= int(text) < 2**16:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, got {text}")
    return int(text)


def main() -> int:
    """Serve until Ctrl-C. 1 if there is nothing to serve or the port that was asked for is taken."""
    parser = argparse.ArgumentParser(description="Serve the built book on 127.0.0.1.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("_build/html"))
    parser.add_argument("--port", type=port_number, help="default: 8000, or any free one if that is taken")
    options = parser.parse_args()
    try:
        server = make_server(options.folder.resolve(), options.port)
    except OSError as error:
        if error.errno in NO_PORT:
            remedy = "name another (PORT= of make book), or none and any free one is used"
            error = f"port {options.port} {NO_PORT[error.errno]}: {remedy}"
        print(f"serve: {error}", file=sys.stderr)
        return 1
    with server:
        print(f"Bytes in Motion is at http://{HOST}:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
