"""JupyterLab on the notebooks, on this machine's own address, and what to type elsewhere to reach it: python -m tools.lab [--port N]."""

from __future__ import annotations

import argparse
import getpass
import ipaddress
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.serve import HOST, NO_PORT, port_number

FIRST, LAST = 8888, 8988
# In a rented container: the address and the port under which its ssh is reached from outside, as Runpod and Vast name them.
OUTSIDE = (("RUNPOD_PUBLIC_IP", "RUNPOD_TCP_PORT_22"), ("PUBLIC_IPADDR", "VAST_TCP_PORT_22"))
CONTAINERS = (Path("/.dockerenv"), Path("/run/.containerenv"))


def why_not(port: int) -> str:
    """Why Jupyter could not listen on that port here; "" where it can."""
    with socket.socket() as tried:
        tried.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as Jupyter does: one that was closed just now is free
        try:
            tried.bind((HOST, port))
        except OSError as error:
            return NO_PORT.get(error.errno, error.strerror)
    return ""


def choose(asked: int | None) -> int:
    """The port that was asked for, else the first free one from 8888 on. Raises ValueError with the reason."""
    if asked is None:
        free = next((port for port in range(FIRST, LAST) if not why_not(port)), None)
        if free is None:
            raise ValueError(f"no port from {FIRST} to {LAST - 1} is free: name one with PORT=")
        return free
    if reason := why_not(asked):
        raise ValueError(f"port {asked} {reason}: name another (PORT= of make lab), or none and a free one is used")
    return asked


def elsewhere(environ: Mapping[str, str]) -> bool:
    """Whether whoever types here sits at another machine: it came over ssh, or this is a container."""
    return any(name in environ for name in ("SSH_CONNECTION", "SSH_TTY", *OUTSIDE[0], *OUTSIDE[1])) or any(
        mark.exists() for mark in CONTAINERS
    )


def way_here(environ: Mapping[str, str]) -> str:
    """What stands behind `ssh` to come here, "-p 40022 root@203.0.113.5"; "" where this machine cannot know it."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's number without a name
        return ""
    for address, port in OUTSIDE:
        if environ.get(address) and environ.get(port):
            return f"-p {environ[port]} {user}@{environ[address]}"
    _, _, address, port = (environ.get("SSH_CONNECTION", "").split() + [""] * 4)[:4]
    try:  # behind a provider's gateway the address is one of its own network, and leads nowhere from outside
        known = ipaddress.ip_address(address).is_global
    except ValueError:
        return ""
    return f"{'' if port == '22' else f'-p {port} '}{user}@{address}" if known else ""


def tunnel(port: int, way: str) -> str:
    """What to type on the laptop, and what to do without ssh."""
    rest = (
        "with its -i, if the ssh command that you came with has one"
        if way
        else "for ... stands what follows `ssh` in the command that you came with"
    )
    return (
        f"On your laptop, in a second terminal ({rest}):\n\n"
        f"    ssh -N -L {port}:{HOST}:{port} {way or '...'}\n\n"
        "Then open there the address that stands below. No ssh? `make kernel` brings the course to your provider's own Jupyter."
    )


def command(port: int, here: bool) -> list[str]:
    """JupyterLab, as this user may start it; here: with a browser."""
    root = [] if os.geteuid() else ["--allow-root"]  # Jupyter refuses unasked, and rented machines make everybody root
    quiet = ["--log-level=WARN", "--ServerApp.port_retries=0"]  # a port that was told is the port, or an error
    browser = [] if here else ["--no-browser"]
    return [sys.executable, "-m", "jupyterlab", f"--ip={HOST}", f"--port={port}", *quiet, *root, *browser, "notebooks"]


def main() -> int:
    """Becomes JupyterLab. 1 if the port that was asked for cannot be had."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=port_number, help=f"default: {FIRST}, or the next free one")
    try:
        port = choose(parser.parse_args().port)
    except ValueError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    away = elsewhere(os.environ)
    taken = f" ({FIRST} is taken)" if FIRST < port < LAST else ""
    print(f"JupyterLab starts on this machine's own address, port {port}{taken}. Ctrl-C ends it.", flush=True)
    if away:
        print(tunnel(port, way_here(os.environ)), flush=True)
    words = command(port, here=not away)
    return os.execv(words[0], words)


if __name__ == "__main__":
    sys.exit(main())
