import assert from "node:assert/strict";
import { test } from "node:test";
import { parse, type Parsed } from "./parse.ts";
import { callOf } from "./command.ts";
import { sampleProgram } from "../../../test/samples/sample-program.ts";

const PROGRAM = sampleProgram();
const [SERVE] = PROGRAM.commands ?? [];
assert.ok(SERVE !== undefined);

function parseLine(line: string): Parsed {
  return parse(
    line.split(" ").filter((word) => word !== ""),
    PROGRAM,
  );
}

function runs(line: string): { call: string; values: object; positionals: readonly string[] } {
  const parsed = parseLine(line);
  assert.equal(parsed.kind, "run", `${line}: ${JSON.stringify(parsed)}`);
  assert.ok(parsed.kind === "run");
  return {
    call: callOf(parsed.path),
    values: { ...parsed.values },
    positionals: parsed.positionals,
  };
}

/** The command at which a line goes wrong, and what is said of it; `misuse.test.ts` has the words. */
function misuses(line: string): { at: string; says: string } {
  const parsed = parseLine(line);
  assert.ok(parsed.kind === "misuse", `${line}: ${JSON.stringify(parsed)}`);
  return { at: callOf(parsed.path), says: parsed.says };
}

/** Checks that each line goes wrong at a command, and why. */
function checkMisuse(at: string, why: RegExp, ...lines: readonly string[]): void {
  for (const line of lines) {
    const found = misuses(line);
    assert.equal(found.at, at, line);
    assert.match(found.says, why, line);
  }
}

test("parse() finds a command, its values and its defaults", () => {
  assert.deepEqual(runs("serve --json"), {
    call: "trunkline serve",
    values: { port: "4180", json: true },
    positionals: [],
  });
  assert.deepEqual(runs("serve -p 80").values, { port: "80" });
  assert.deepEqual(runs("serve --port=80 --port 81").values, { port: "81" });
});

test("parse() finds a command inside groups", () => {
  const { call, positionals } = runs("store item remove x");
  assert.equal(call, "trunkline store item remove");
  assert.deepEqual(positionals, ["x"]);
});

test("parse() finds a command that runs and is a group, and its children", () => {
  const program = {
    ...PROGRAM,
    commands: [{ ...SERVE, commands: [{ ...SERVE, name: "stop", options: {} }] }],
  };
  const calls = ["serve", "serve --port 1", "serve stop"].map((line) => {
    const parsed = parse(line.split(" "), program);
    return parsed.kind === "run" ? [callOf(parsed.path), { ...parsed.values }] : parsed.kind;
  });
  assert.deepEqual(calls, [
    ["trunkline serve", { port: "4180" }],
    ["trunkline serve", { port: "1" }],
    ["trunkline serve stop", {}],
  ]);
  assert.equal(parse(["serve", "halt"], program).kind, "misuse");
});

test("parse() accepts global options before, between and after the words of a command", () => {
  for (const line of [
    "--data d store item add",
    "store --data d item add",
    "store item --data=d add",
    "store item add --data d",
  ]) {
    const { call, values } = runs(line);
    assert.equal(call, "trunkline store item add", line);
    assert.deepEqual(values, { data: "d" }, line);
  }
});

test("parse() does not treat an option's value as a command", () => {
  assert.equal(runs("--data serve store item add").call, "trunkline store item add");
});

test("parse() collects a repeated option, which replaces its default", () => {
  assert.deepEqual(runs("draw circle").values, { tag: ["x"] });
  assert.deepEqual(runs("draw circle --tag a --set k=v --tag b").values, {
    tag: ["a", "b"],
    set: ["k=v"],
  });
});

test("parse() keeps values that contain '=' whole", () => {
  assert.deepEqual(runs("serve --set a=b=c --set=d=e").values, {
    port: "4180",
    set: ["a=b=c", "d=e"],
  });
});

test("parse() treats words after -- as arguments", () => {
  assert.deepEqual(runs("draw circle -- --help").positionals, ["circle", "--help"]);
});

test("parse() treats a single dash as an argument or a value", () => {
  assert.deepEqual(runs("draw circle -").positionals, ["circle", "-"]);
  assert.deepEqual(runs("serve --port -").values, { port: "-" });
});

test("parse() accepts a negative number as a value", () => {
  assert.deepEqual(runs("serve --port -12").values, { port: "-12" });
});

test("parse() runs the command that an option names", () => {
  for (const line of [
    "--mode=serve --json",
    "--mode serve --json",
    "--verbose --mode serve --json",
  ]) {
    const { call, values } = runs(line);
    assert.equal(call, "trunkline serve", line);
    assert.equal((values as { json?: boolean }).json, true, line);
  }
  assert.deepEqual(runs("--mode=draw circle").positionals, ["circle"]);
});

test("parse() reports an option that should name a command and does not", () => {
  checkMisuse("trunkline", /^--mode of .* cannot be 'x'\. It is one of: serve, draw\./, "--mode=x");
  // A command of the program, but not one that this option can name.
  checkMisuse("trunkline", /^--mode of .* cannot be 'store'\. It is one of/, "--mode store");
  checkMisuse("trunkline", /^option '--mode' .* needs a value/, "--mode");
  checkMisuse("trunkline serve", /^unknown option '--mode'/, "serve --mode=draw");
});

test("parse() returns help if it is asked for, even if there are mistakes", () => {
  for (const [line, call] of [
    ["", "trunkline"],
    ["--help", "trunkline"],
    ["-h", "trunkline"],
    ["store -h", "trunkline store"],
    ["store item --help", "trunkline store item"],
    ["serve --help", "trunkline serve"],
    ["--help serve", "trunkline serve"],
    ["serve --prot 80 --help", "trunkline serve"],
    ["draw --help", "trunkline draw"],
  ] as const) {
    const parsed = parseLine(line);
    assert.equal(parsed.kind, "help", line);
    assert.equal(callOf(parsed.path), call, line);
  }
});

test("parse() reports a group without a command", () => {
  for (const [line, call] of [
    ["store", "trunkline store"],
    ["store item --verbose", "trunkline store item"],
    ["--json", "trunkline"],
  ] as const) {
    const parsed = parseLine(line);
    assert.equal(parsed.kind, "no-command", line);
    assert.equal(callOf(parsed.path), call, line);
  }
});

test("parse() returns the version", () => {
  const path = [PROGRAM];
  assert.deepEqual(parseLine("--version"), { kind: "version", path, json: false });
  assert.deepEqual(parseLine("-V"), { kind: "version", path, json: false });
  assert.deepEqual(parseLine("--json --version"), { kind: "version", path, json: true });
});

test("parse() reports an unknown command with its group", () => {
  checkMisuse("trunkline", /^unknown command 'sevre'/, "sevre");
  checkMisuse("trunkline store item", /^unknown command 'store item ad'/, "store item ad");
  checkMisuse("trunkline", /^unknown command 'constructor'/, "constructor");
});

test("parse() reports an unknown option with its command", () => {
  const at = "trunkline serve";
  checkMisuse(at, /^unknown option '--prot' for 'trunkline serve'/, "serve --prot=8");
  checkMisuse(at, /^unknown option '-x'/, "serve -x");
  checkMisuse(at, /^unknown option '-j' .* Did you mean '--json'/, "serve -jso");
  checkMisuse(at, /^unknown option/, "serve --constructor", "serve --__proto__");
  checkMisuse("trunkline", /^unknown option '--port'/, "--port 80 serve");
});

test("parse() reports a missing value, also if an option is in its place", () => {
  const at = "trunkline serve";
  checkMisuse(at, /^option '--port' .* needs a value: --port PORT\.$/, "serve --port", "serve -p");
  checkMisuse(at, /needs a value: .* write --port=--json\.$/, "serve --port --json");
  assert.deepEqual(runs("serve --port=--json").values, { port: "--json" });
});

test("parse() reports a value for an option that takes none", () => {
  checkMisuse("trunkline serve", /takes no value, but got 'yes'/, "serve --json=yes");
  checkMisuse("trunkline serve", /takes no value, but got ''/, "serve --json=");
});

test("parse() reports a value that is not among the choices, for options and arguments", () => {
  const at = "trunkline draw";
  const style = /^--style of .* cannot be '(?:gaudy)?'\. It is one of: plain, pretty\./;
  checkMisuse(at, style, "draw circle --style gaudy", "draw circle --style=");
  checkMisuse(at, /^SHAPE of .* cannot be 'cube'\. It is one of: circle, square\./, "draw cube");
});

test("parse() reports missing and surplus arguments", () => {
  checkMisuse("trunkline draw", /needs SHAPE/, "draw");
  checkMisuse("trunkline serve", /takes no arguments, but got 'now'/, "serve now");
  const remove = "trunkline store item remove";
  checkMisuse(remove, /takes one argument, but got 'b'/, "store item remove a b");
});

test("parse() accepts any number of words for a variadic argument", () => {
  assert.deepEqual(runs("draw circle a b c").positionals, ["circle", "a", "b", "c"]);
});

test("parse() has no inherited names among the values", () => {
  const parsed = parseLine("serve");
  assert.ok(parsed.kind === "run");
  assert.equal(parsed.values["constructor"], undefined);
  assert.equal(parsed.values["toString"], undefined);
});

test("parse() refuses empty values, except where they say something", () => {
  checkMisuse("trunkline serve", /^--port of .* cannot be empty/, "serve --port=");
  assert.equal(parse(["serve", "--port", ""], PROGRAM).kind, "misuse");
  assert.equal(parse(["store", "item", "remove", ""], PROGRAM).kind, "misuse");
  assert.equal(parse(["draw", "circle", ""], PROGRAM).kind, "misuse");
  assert.equal(parse(["draw", "circle", "a", ""], PROGRAM).kind, "run", "a later word of a list");
  const note = { type: "string", value: "TEXT", describe: "A note", mayBeEmpty: true } as const;
  const text = { name: "TEXT", describe: "A text", mayBeEmpty: true };
  const lenient = { ...PROGRAM, commands: [{ ...SERVE, options: { note }, args: [text] }] };
  assert.equal(parse(["serve", "--note=", ""], lenient).kind, "run");
});
