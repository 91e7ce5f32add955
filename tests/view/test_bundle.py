"""The bundler: one module out of many, small on the page, and a clear word about what it does not understand."""

import json
import re
import subprocess

import pytest

from helpers.view.shared.bundle import BundleError, bundle, plain_script
from helpers.view.shared.widget import VIEW

PLAYER = VIEW / "player" / "player.mjs"


def write(folder, **modules: str):
    for name, text in modules.items():
        (folder / f"{name}.mjs").write_text(text, encoding="utf-8")
    return folder / "main.mjs"


def run(node: str, code: str, folder) -> object:
    """What a module text logs, as JSON."""
    path = folder / "bundled.mjs"
    path.write_text(code, encoding="utf-8")
    done = subprocess.run([node, path], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_bundle_is_the_same_every_time():
    assert bundle(PLAYER) == bundle(str(PLAYER))


def test_modules_run_as_one(node, tmp_path):
    main = write(
        tmp_path,
        leaf='export const base = 10;\nexport function twice(n) {\n  return 2 * n; // "not a string\n}\n',
        branch='import { twice } from "./leaf.mjs";\nexport const four = (n) => twice(twice(n));\n',
        main='import { four } from "./branch.mjs";\nimport { base } from "./leaf.mjs";\n'
        "console.log(JSON.stringify([four(1), base]));\nexport default { four };\n",
    )
    assert run(node, bundle(main), tmp_path) == [4, 10]


def test_every_module_has_a_scope_of_its_own(node, tmp_path):
    """Three modules with the same names at the top, which one of them exports; none sees another's."""
    main = write(
        tmp_path,
        leaf="let count = 1;\nconst same = () => (count += 1);\nexport function told() {\n  return same();\n}\n",
        twin='import { told } from "./leaf.mjs";\nconst count = 40;\nexport const same = () => count + told();\n',
        main='import { same } from "./twin.mjs";\nconst count = "mine";\nconst told = typeof leaf;\n'
        "console.log(JSON.stringify([same(), same(), count, told]));\nexport default { same };\n",
    )
    assert run(node, bundle(main), tmp_path) == [42, 43, "mine", "undefined"]
    (tmp_path / "twin.mjs").write_text("export const same = () => count;\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="count is not defined"):  # what it did not import it cannot see
        run(node, bundle(main), tmp_path)


def test_what_nobody_asks_for_stays_behind(node, tmp_path):
    """A chain of unused functions goes, one used only by a used one stays; properties and words of strings are no use of a name."""
    main = write(
        tmp_path,
        leaf='// idle, spare and twice\nexport function twice(n) {\n  return times2(n, "spare", "not-many");\n}\n'
        "const times2 = (n) => 2 * n;\nexport function idle() {\n  return spare();\n}\n"
        "const spare = () => 7;\nconst many = [1,\n  2,\n];\n",
        main='import { twice, idle } from "./leaf.mjs";\nconst box = { idle: 1, many: [...[twice(4)]] };\n'
        "console.log(JSON.stringify([box.many, box.spare ?? null]));\nexport default box;\n",
    )
    text = bundle(main)
    assert run(node, text, tmp_path) == [[8], None]
    assert "spare = " in text  # idle is a word of main that could mean it: kept, and what it uses
    plainer = main.read_text().replace("idle: 1, many:", "all:").replace("box.many", "box.all")
    main.write_text(plainer.replace("twice, idle", "twice"), encoding="utf-8")
    text = bundle(main)
    assert run(node, text, tmp_path) == [[8], None]
    assert not re.search(r"spare = |function idle|many = ", text)
    assert "times2 = " in text


def test_a_class_is_handed_on_and_left_behind_like_a_function(node, tmp_path):
    main = write(
        tmp_path,
        leaf="/** What is refused. */\nexport class Refused extends Error {}\nexport class Idle {}\n",
        main='import { Idle, Refused } from "./leaf.mjs";\nconst one = new Refused("no");\n'
        "console.log(JSON.stringify([one.message, one instanceof Error]));\nexport default { one };\n",
    )
    assert run(node, bundle(main), tmp_path) == ["no", True]
    assert "Idle" not in bundle(main)


def test_a_plain_script_hands_the_default_on(node, tmp_path):
    main = write(tmp_path, main="const answer = { render: 42 };\nexport default answer;\n")
    script = plain_script(main, "player")
    shim = "const BytesInMotion = { define: (name, widget) => console.log(JSON.stringify([name, widget])) };\n"
    assert run(node, shim + script, tmp_path) == ["player", {"render": 42}]


@pytest.mark.parametrize(
    ("modules", "told"),
    [
        ({"main": 'import { a } from "./gone.mjs";\nexport default a;\n'}, "main.mjs asks for gone.mjs"),
        (
            {"main": 'import { b } from "./leaf.mjs";\nexport default b;\n', "leaf": "export const a = 1;\n"},
            "imports b",
        ),
        ({"main": 'import * as d3 from "https://cdn.example/d3.mjs";\nexport default d3;\n'}, "main.mjs:1 is outside"),
        ({"main": "const a = 1;\n"}, "has no `export default"),
        (
            {
                "main": 'import { a } from "./leaf.mjs";\nexport default a;\n',
                "leaf": 'import { x } from "./main.mjs";\nexport const a = 1;\n',
            },
            "imports itself",
        ),
    ],
)
def test_what_the_bundler_does_not_understand_is_named(tmp_path, modules, told):
    with pytest.raises(BundleError, match=re.escape(told)):
        bundle(write(tmp_path, **modules))
