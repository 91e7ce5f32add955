"""Between playwright and Firefox: of all refusals one is forgiven."""

import json

from relay import forgiven


def answer(of: int, error: str) -> str:
    return json.dumps({"type": "error", "id": of, "error": error, "message": "", "stacktrace": ""})


def test_only_an_unknown_command_that_no_test_needs_is_forgiven():
    assert json.loads(forgiven(answer(7, "unknown command"), {7})) == {"type": "success", "id": 7, "result": {}}
    for message, asked in (
        (answer(8, "unknown command"), {7}),
        (answer(7, "invalid argument"), {7}),
        ('{"type": "event", "params": "unknown command"}', {7}),
    ):
        assert forgiven(message, asked) == message
