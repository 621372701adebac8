import assert from "node:assert/strict";
import { test } from "node:test";
import { PROGRAM } from "./commands.ts";
import { allPaths, callOf, GLOBAL_OPTIONS, endOf, optionsOf } from "./shell/command.ts";
import { parse } from "./shell/parse.ts";
import { run } from "./program.ts";

const PATHS = allPaths([PROGRAM]);

/** A process in which nothing but help is expected. */
const QUIET = {
  env: {},
  cwd: () => "/here",
  exit: (code: number) => assert.fail(`exited with ${code}`),
  stderr: { write: (text: string) => assert.fail(text), on: () => undefined },
};

/** The words after `trunkline` in a line for a shell: quotes undone, redirections left out. */
function wordsOf(line: string): string[] {
  const call = line.match(/.*(?:^|[\s(])trunkline(?:\s+(?<rest>.*))?$/)?.groups;
  assert.ok(call, `'${line}' does not call trunkline`);
  const [own = ""] = (call["rest"] ?? "").split(/\s*(?:\d?>|\||\))/);
  const words = own.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? [];
  return words.map((word) => word.replaceAll(/^["']|["']$/g, ""));
}

for (const path of PATHS) {
  const call = callOf(path);
  const command = endOf(path);

  test(`the examples of '${call}' are valid command lines`, () => {
    for (const [run, explains] of Object.entries(command.examples)) {
      const parsed = parse(wordsOf(run), PROGRAM);
      assert.ok(["run", "help"].includes(parsed.kind), `${run}: ${JSON.stringify(parsed)}`);
      assert.match(explains, /\.$/, run);
    }
  });

  test(`'${call} --help' shows its usage and examples`, async () => {
    let shown = "";
    const stdout = { write: (text: string) => (shown += text), on: () => undefined };
    const words = path.slice(1).map(({ name }) => name);
    assert.equal(await run([...words, "--help"], { ...QUIET, stdout }), 0);
    assert.ok(shown.startsWith(`Usage: ${call} `), shown);
    for (const line of Object.keys(command.examples))
      assert.ok(shown.includes(`\n  ${line}\n`), line);
  });

  test(`an example of '${call}' calls it, or a command in it`, () => {
    const calls = Object.keys(command.examples).map((run) =>
      callOf(parse(wordsOf(run), PROGRAM).path),
    );
    assert.ok(
      calls.some((called) => called === call || called.startsWith(`${call} `)),
      calls.join(", "),
    );
  });

  test(`the texts of '${call}' have the form that help, completion and reference need`, () => {
    assert.match(command.name, /^[a-z][a-z-]*$/);
    assert.match(command.summary, /^[A-Z].*[^.]$/);
    assert.ok(command.load !== undefined || command.commands !== undefined);
    for (const [name, spec] of Object.entries(optionsOf(command))) {
      assert.match(name, /^[a-z][a-z-]*$/);
      assert.match(spec.describe, /^[A-Z].*[^.]$/, `--${name}`);
      assert.match(spec.short ?? "x", /^[A-Za-z]$/, `--${name}`);
      assert.equal(spec.type === "string", spec.value !== undefined, `--${name}`);
      for (const choice of spec.choices ?? []) assert.match(choice, /^[\w.-]+$/);
    }
    for (const { name, choices = [] } of command.args ?? []) {
      assert.match(name, /^[A-Z][A-Z:_-]*$/);
      for (const choice of choices) assert.match(choice, /^[\w.-]+$/);
    }
  });

  test(`'${call}' has no name or letter twice, and required arguments come first`, () => {
    const names = (command.commands ?? []).map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)]);
    const letters = Object.values(optionsOf(command)).flatMap(({ short = [] }) => short);
    assert.deepEqual(letters, [...new Set(letters)]);
    const args = command.args ?? [];
    const optional = args.map((arg) => arg.optional === true);
    assert.deepEqual(
      optional,
      optional.toSorted((a, b) => Number(a) - Number(b)),
    );
    assert.ok(args.slice(0, -1).every(({ variadic }) => variadic !== true));
  });

  test(`'${call}' replaces global options only with options of the same type`, () => {
    // Before the command is known, its options are read as the global ones.
    for (const [name, spec] of Object.entries(command.options ?? {})) {
      const shadowed = GLOBAL_OPTIONS[name];
      if (shadowed === undefined) continue;
      assert.equal(spec.type, shadowed.type, `--${name}`);
      assert.equal(spec.short, shadowed.short, `--${name}`);
    }
  });
}

/** They speak a protocol, hold a conversation, or write for a shell or a person. */
const NO_DATA = [
  "session attach",
  "identity exec",
  "plugin dev",
  "plugin wrap",
  "mcp",
  "acp",
  "lsp",
  "completion",
  "help",
];

test("every command that prints data takes --json", () => {
  const without = [...PATHS]
    .filter((path) => endOf(path).commands === undefined && !("json" in optionsOf(endOf(path))))
    .map((path) => callOf(path).replace("trunkline ", ""));
  assert.deepEqual(without, NO_DATA);
});

test("the choices of an option that names a command are commands", () => {
  for (const { options = {}, commands = [] } of PATHS.map(endOf)) {
    for (const { namesCommand, choices } of Object.values(options)) {
      if (namesCommand !== true) continue;
      assert.ok(choices, "an option that names a command has choices");
      for (const choice of choices)
        assert.ok(
          commands.some(({ name }) => name === choice),
          choice,
        );
    }
  }
});

test("help lists the ten commands that matter first, and none that only programs call", async () => {
  let shown = "";
  const stdout = { write: (text: string) => (shown += text), on: () => undefined };
  await run(["help"], { ...QUIET, stdout });
  const lists = [...shown.matchAll(/^(?<title>[\w ]+):\n(?<rows>(?: {2}.*\n)+)/gm)];
  const names = lists.map(({ groups }) => [
    groups?.["title"],
    groups?.["rows"]?.match(/^ {2}[a-z]+(?= )/gm)?.length,
  ]);
  assert.deepEqual(names.slice(0, 4), [
    ["Every day", 10],
    ["Lines of code", 4],
    ["Connect", 4],
    ["Operate", 10],
  ]);
  assert.doesNotMatch(shown, /^ {2}(mcp|acp|lsp) /m);
});

test("names from before go on working", () => {
  const before = {
    "tools list": "trunkline tool list",
    "models key set A": "trunkline model key set",
    "notifications test": "trunkline notification test",
    "device list": "trunkline token list",
    "device revoke phone": "trunkline token revoke",
    "session permissions": "trunkline session permission",
    "plugin logs a": "trunkline plugin log",
  };
  for (const [line, call] of Object.entries(before)) {
    const parsed = parse(line.split(" "), PROGRAM);
    assert.equal(parsed.kind, "run", line);
    assert.equal(callOf(parsed.path), call);
  }
});
