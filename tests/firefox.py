"""The second engine: the distribution's Firefox, driven by the same playwright over WebDriver BiDi."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from playwright.sync_api import Browser, Playwright

RELAY = Path(__file__).with_name("relay.py")
SETTINGS = {
    "browser.cache.disk.enable": False,  # every page is loaded anew
    "browser.cache.memory.enable": False,
    "dom.events.testing.asyncClipboard": True,  # a test may read what was copied
    "network.proxy.type": 1,  # nothing finds its way out: port 9 takes no one in
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "127.0.0.1",
    "ui.prefersReducedMotion": 1,
    "ui.useOverlayScrollbars": 1,
    "widget.gtk.overlay-scrollbars.enabled": True,
}


def launch(playwright: Playwright, path: str, folder: Path) -> Browser:
    """Firefox at `path`, without a window. folder: takes the command that playwright starts."""
    command = folder / "firefox"
    command.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(RELAY), path])} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return playwright.firefox.launch(channel="moz-firefox", executable_path=command, firefox_user_prefs=SETTINGS)
