"""A folder behind an address, as a web server would hand it out."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.serve import make_server


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a gzip server for the folder."""
    with make_server(folder, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
