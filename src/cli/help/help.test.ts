import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { renderHelp } from "./help.ts";
import { terminalText } from "../shell/layout.ts";
import { allPaths, callOf, type Path } from "../shell/command.ts";
import { sampleProgram } from "../../../test/samples/sample-program.ts";

const PATHS = new Map(allPaths([sampleProgram()]).map((path) => [callOf(path), path]));
const PLAIN = { width: 80, color: false };

function pathTo(call: string): Path {
  const path = PATHS.get(call);
  assert.ok(path, `no command ${call}`);
  return path;
}

test("renderHelp() describes a command completely, with global options last", () => {
  assert.equal(
    renderHelp(pathTo("trunkline draw"), PLAIN),
    `Usage: trunkline draw SHAPE [FILE…] [OPTIONS]

Draw shapes, it's fun: [really].

Arguments:
  SHAPE    What to draw (one of: circle, square)
  [FILE…]  Where to draw it

Options:
  --style STYLE  How (one of: plain, pretty)
  --tag TAG      Labels (default: x)
  --config NAME  Not a file here

Examples:
  trunkline draw circle a.svg b.svg --style plain
      Do it.

Global options:
      --data DIR       Store all state in DIR (also TRUNKLINE_DATA)
      --set KEY=VALUE  Set one configuration value for this run; may be repeated
      --verbose        Log every message to stderr (also TRUNKLINE_VERBOSE=1)
  -h, --help           Show this help
`,
  );
});

test("renderHelp() lists the commands of a group", () => {
  const help = renderHelp(pathTo("trunkline store item"), PLAIN);
  assert.match(help, /^Usage: trunkline store item COMMAND \[OPTIONS\]$/m);
  assert.match(help, /^Commands:\n {2}add {5}Add one\n {2}remove {2}Remove one$/m);
});

test("renderHelp() uses bold headings and dim explanations if there are colours, and the same text without", () => {
  const path = pathTo("trunkline serve");
  const colored = terminalText(renderHelp(path, { width: 80, color: true }));
  assert.ok(colored.includes("\n\x1b[1mOptions:\x1b[22m\n"));
  assert.ok(colored.includes("\n      \x1b[2mDo it.\x1b[22m\n"));
  assert.equal(stripVTControlCharacters(colored), renderHelp(path, PLAIN));
});

test("renderHelp() stays within the width", () => {
  for (const path of PATHS.values()) {
    for (const width of [40, 60, 80, 100]) {
      const long = renderHelp(path, { width, color: false })
        .split("\n")
        // Examples are for copying and are never broken.
        .filter((line) => line.length > width && !line.startsWith("  trunkline "));
      assert.deepEqual(long, [], `${callOf(path)} at ${width}`);
    }
  }
});
