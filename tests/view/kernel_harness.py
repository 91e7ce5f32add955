"""A real Jupyter kernel for the widgets' tests, as a fork that has torch; tests/notebooks/test_lab.py starts one as a reader does."""

from __future__ import annotations

import psutil
import warm_kernels


class Kernel:
    """A kernel whose cells' text is read, and whose widgets get messages as a frontend sends them."""

    def __init__(self):
        with warm_kernels.forked():
            self.manager, self.client = warm_kernels.started()
        self.pid = self.manager.provisioner.process.pid
        self.states: list[dict] = []  # what the trait `call` of a widget was told

    def run(self, code: str) -> str:
        text, asked = "", self.client.execute(code, allow_stdin=False)  # nobody watches: no line of a long call
        while True:
            message = self.hear()
            content, kind = message["content"], message["msg_type"]
            if message["parent_header"].get("msg_id") != asked:
                continue
            if kind == "stream":
                text += content["text"]
            if kind == "error":
                raise AssertionError("\n".join(content["traceback"]))
            if kind == "status" and content["execution_state"] == "idle":
                return text

    def hear(self) -> dict:
        """The next message; a widget's new state is kept."""
        message = self.client.get_iopub_msg(timeout=60)
        if message["msg_type"] == "comm_msg" and "call" in message["content"]["data"].get("state", {}):
            self.states.append(message["content"]["data"]["state"]["call"])
        return message

    def press(self, model_id: str) -> None:
        """The message that JupyterLab sends when Stop is pressed."""
        data = {"method": "update", "state": {"stopping": True}, "buffer_paths": []}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", {"comm_id": model_id, "data": data}))

    @staticmethod
    def alive(pids: list[int]) -> list[int]:
        """Those of the processes that still run."""
        return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
