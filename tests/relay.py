"""Stands between playwright and Firefox: what this Firefox does not know yet, and no test needs, is no error.

`python tests/relay.py FIREFOX [its options]`, as if it were Firefox. Playwright sets the preferred theme of every new context, and
Firefoxes whose WebDriver BiDi cannot do that refuse it: then there would be no context. Their pages prefer light. All else goes
through as it is.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

from tornado import httpserver, netutil, web, websocket

OPTIONAL = "emulation.setMediaFeaturesOverride"
LISTENS = re.compile(r"(?<=WebDriver BiDi listening on )ws://\S+")
LARGEST = 1 << 30  # bytes of a message: a whole page's picture is one


class Relay(websocket.WebSocketHandler):
    """One conversation. there: where Firefox listens, when it does."""

    def initialize(self, there: asyncio.Future) -> None:
        self.there, self.asked = there, set()

    async def open(self) -> None:
        self.firefox = await websocket.websocket_connect(f"{await self.there}/session", max_message_size=LARGEST)
        self.answers = asyncio.create_task(self.hand_back())

    async def on_message(self, message: str) -> None:
        if OPTIONAL in message:
            self.asked.add(json.loads(message)["id"])
        await self.firefox.write_message(message)

    async def hand_back(self) -> None:
        while (message := await self.firefox.read_message()) is not None:
            await self.write_message(forgiven(message, self.asked))
        self.close()

    def on_close(self) -> None:
        self.firefox.close()


def forgiven(message: str, asked: set[int]) -> str:
    """The message, and in place of an unknown command's refusal, where its id is among those asked, an empty success."""
    if '"unknown command"' in message and (told := json.loads(message)).get("id") in asked:
        return json.dumps({"type": "success", "id": told["id"], "result": {}})
    return message


async def main() -> None:
    there = asyncio.get_running_loop().create_future()
    sockets = netutil.bind_sockets(0, "127.0.0.1")
    ways = web.Application([(".*", Relay, {"there": there})], websocket_max_message_size=LARGEST)
    httpserver.HTTPServer(ways).add_sockets(sockets)
    firefox = await asyncio.create_subprocess_exec(*sys.argv[1:], stderr=asyncio.subprocess.PIPE)
    async for said in firefox.stderr:
        line = said.decode(errors="replace")
        if listens := LISTENS.search(line):
            there.set_result(listens[0])
            line = LISTENS.sub(f"ws://127.0.0.1:{sockets[0].getsockname()[1]}", line)
        print(line, end="", file=sys.stderr, flush=True)
    sys.exit(await firefox.wait())


if __name__ == "__main__":
    asyncio.run(main())
