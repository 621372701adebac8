import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "./parse.ts";
import { sampleProgram } from "../../../test/samples/sample-program.ts";

/** What is typed, and what is said about it. */
const SAID: Readonly<Record<string, string>> = {
  sevre: "unknown command 'sevre'. Did you mean 'serve'?",
  dr: "unknown command 'dr'. Did you mean 'draw'?",
  deploy: "unknown command 'deploy'.",
  item: "unknown command 'item'. Did you mean 'store item'?",
  "store itme": "unknown command 'store itme'. Did you mean 'store item'?",
  "store item ad": "unknown command 'store item ad'. Did you mean 'store item add'?",
  "serve --prot 80": "unknown option '--prot' for 'trunkline serve'. Did you mean '--port'?",
  "serve -port 80x --jsn": "unknown option '--jsn' for 'trunkline serve'. Did you mean '--json'?",
  "serve -json": "unknown option '-j' for 'trunkline serve'. Did you mean '--json'?",
  "serve -x": "unknown option '-x' for 'trunkline serve'.",
  "--style plain draw":
    "unknown option '--style' for 'trunkline'. It belongs after 'trunkline draw'.",
  version: "unknown command 'version'. Did you mean 'trunkline --version'?",
  versoin: "unknown command 'versoin'. Did you mean 'trunkline --version'?",
  "store item rm": "unknown command 'store item rm'. Did you mean 'store item remove'?",
  wrp: "unknown command 'wrp'.",
  "wrap --jsn a b": "unknown option '--jsn' for 'trunkline wrap'. Did you mean '--json'?",
  "wrap a npx -y b$":
    "unknown option '-y' for 'trunkline wrap'. If it belongs to the command, write:\n" +
    "  trunkline wrap a -- npx -y 'b$'",
  "serve --port": "option '--port' of 'trunkline serve' needs a value: --port PORT.",
  "serve --port --json":
    "option '--port' of 'trunkline serve' needs a value: --port PORT. " +
    "To give it '--json', write --port=--json.",
  "serve --port=":
    "--port of 'trunkline serve' cannot be empty. Write --port PORT, or leave it out.",
  "serve --json=yes": "option '--json' of 'trunkline serve' takes no value, but got 'yes'.",
  "draw circle --style prety":
    "--style of 'trunkline draw' cannot be 'prety'. It is one of: plain, pretty. Did you mean 'pretty'?",
  "draw cube": "SHAPE of 'trunkline draw' cannot be 'cube'. It is one of: circle, square.",
  "--mode=x": "--mode of 'trunkline' cannot be 'x'. It is one of: serve, draw.",
  draw: "'trunkline draw' needs SHAPE: circle or square.",
  "store item remove ": "DIR of 'trunkline store item remove' cannot be empty.",
  "draw circle  a": "FILE of 'trunkline draw' cannot be empty.",
  "store item remove": "'trunkline store item remove' needs DIR.",
  "serve now": "'trunkline serve' takes no arguments, but got 'now'.",
  "store item remove a b": "'trunkline store item remove' takes one argument, but got 'b'.",
};

for (const [line, said] of Object.entries(SAID)) {
  test(`parse() explains: trunkline ${line}`, () => {
    const parsed = parse(line.split(" "), sampleProgram());
    assert.ok(parsed.kind === "misuse", JSON.stringify(parsed));
    assert.equal(parsed.says, said);
  });
}
