// How long every named function of the given modules is, read from their syntax trees by the parser inside node.
// node --expose-internals lengths.mjs FILE... -> a line a module: [path, [[name, lines], ...]]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { Parser } = createRequire(import.meta.url)("internal/deps/acorn/acorn/dist/acorn");

// Arrow functions handed straight on are part of the function around them, as lambdas are in Python; what has a name counts.
function* functions(node, name = null) {
  if (/Function/.test(node.type) && (node.id?.name ?? name)) {
    yield [node.id?.name ?? name, node.loc.end.line - node.loc.start.line + 1];
  }
  const own =
    node.type === "VariableDeclarator"
      ? node.id.name
      : ["Property", "MethodDefinition"].includes(node.type)
        ? node.key.name
        : null;
  for (const [key, part] of Object.entries(node)) {
    for (const one of [part].flat()) if (key !== "loc" && one?.type) yield* functions(one, own);
  }
}

const options = { ecmaVersion: "latest", sourceType: "module", locations: true };
for (const path of process.argv.slice(2)) {
  console.log(JSON.stringify([path, [...functions(Parser.parse(readFileSync(path, "utf8"), options))]]));
}
