import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import { TrunklineError } from "../base/errors.ts";
import type { Invocation } from "./shell/command.ts";
import type { Host, Output } from "./shell/host.ts";
import { run } from "./program.ts";
import { sampleProgram } from "../../test/samples/sample-program.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** What the command was run with, when it was. */
  readonly invocation: Invocation | undefined;
}

/** Runs the sample program; `body` is the code of all its commands. */
async function runSample(
  line: string,
  body: (invocation: Invocation) => number | Promise<number> = () => 0,
  env: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  let out = "";
  let err = "";
  let invocation: Invocation | undefined;
  const host: Host = {
    env,
    cwd: () => "/here",
    exit: (code) => assert.fail(`exited with ${code}`),
    stdout: output((text) => (out += text), 60),
    stderr: output((text) => (err += text)),
  };
  const program = sampleProgram({
    run: async (given) => {
      invocation = given;
      return body(given);
    },
  });
  const code = await run(line.split(" ").filter(Boolean), host, program);
  return { code, out, err, invocation };
}

function output(write: (text: string) => void, columns = 80): Output {
  return { isTTY: true, columns, write, on: () => undefined };
}

test("run() passes a command its input and resolves to its exit code", async () => {
  const { code, out, err, invocation } = await runSample("draw circle x --style plain", (given) => {
    given.out("to stdout");
    given.err("to stderr");
    return 1;
  });
  assert.equal(code, 1);
  assert.equal(out, "to stdout");
  assert.equal(err, "to stderr");
  assert.deepEqual({ ...invocation?.values }, { style: "plain", tag: ["x"] });
  assert.deepEqual(invocation?.positionals, ["circle", "x"]);
  assert.equal(invocation?.cwd, "/here");
  assert.equal(invocation?.color, true);
  assert.equal(invocation?.isTerminal, true);
  assert.equal(invocation?.width, 60);
  assert.equal(invocation?.edge, 60);
});

test("run() turns --verbose into TRUNKLINE_VERBOSE=1", async () => {
  const env = { HOME: "/home" };
  const verbose = await runSample("serve --verbose", undefined, env);
  assert.deepEqual(verbose.invocation?.env, { HOME: "/home", TRUNKLINE_VERBOSE: "1" });
  const quiet = await runSample("serve", undefined, env);
  assert.equal(quiet.invocation?.env, env);
  assert.deepEqual(env, { HOME: "/home" });
});

test("run() prints help to stdout when it was asked for, with the exit code of success", async () => {
  for (const line of ["", "--help", "store --help"]) {
    const { code, out, err } = await runSample(line);
    assert.equal(code, 0, line);
    assert.match(out, /Usage:/, line);
    assert.equal(err, "", line);
  }
});

test("run() prints a group's help to stderr when its command is missing, and exits 2", async () => {
  const { code, out, err } = await runSample("store item");
  assert.equal(code, 2);
  assert.equal(out, "");
  assert.match(err, /Usage:.* trunkline store item COMMAND/);
});

test("run() explains wrong usage and exits 2", async () => {
  const { code, out, err, invocation } = await runSample("serve --prot 80");
  assert.equal(code, 2);
  assert.equal(out, "");
  assert.equal(
    err,
    "trunkline: unknown option '--prot' for 'trunkline serve'. Did you mean '--port'?\n" +
      "Run `trunkline serve --help` to see how it is used.\n",
  );
  assert.equal(invocation, undefined);
});

test("run() prints only the message of an expected failure, and exits 1", async () => {
  const { code, err } = await runSample(
    "serve",
    () => {
      throw new TrunklineError("config", "Cannot read the configuration: no such file.");
    },
    { TRUNKLINE_VERBOSE: "1" },
  );
  assert.equal(code, 1);
  assert.equal(err, "trunkline: Cannot read the configuration: no such file.\n");
});

test("run() exits 2 if the command itself reports wrong usage", async () => {
  const { code, err } = await runSample("serve --port x", () => {
    throw new TrunklineError("usage", "Cannot listen on port 'x': not a number.");
  });
  assert.equal(code, 2);
  assert.equal(
    err,
    "trunkline: Cannot listen on port 'x': not a number.\n" +
      "Run `trunkline serve --help` to see how it is used.\n",
  );
});

test("run() shows the stack of a bug only with --verbose", async () => {
  const error = new TypeError("x is not a function", { cause: new Error("the cause") });
  const fault = (): Promise<never> => Promise.reject(error);
  const quiet = await runSample("serve", fault);
  assert.equal(quiet.code, 1);
  assert.equal(
    quiet.err,
    "trunkline: 'trunkline serve' failed because of a bug in Trunkline: x is not a function\n" +
      "Run it again with --verbose to see where it happened.\n",
  );
  for (const verbose of [
    await runSample("serve --verbose", fault),
    await runSample("serve", fault, { TRUNKLINE_VERBOSE: "1" }),
    await runSample("serve", fault, { REMOTE_JUGGLER_VERBOSE: "1" }),
  ]) {
    assert.equal(verbose.code, 1);
    assert.match(verbose.err, /TypeError: x is not a function\n +at .*program\.test\.ts/);
    assert.match(verbose.err, /the cause/);
  }
});

test("run() does not treat an error of the operating system as a bug", async () => {
  const refused = (): Promise<never> => writeFile("/dev/null/file", "") as Promise<never>;
  const { code, err } = await runSample("serve", refused);
  assert.equal(code, 1);
  assert.match(err, /^trunkline: 'trunkline serve' failed: not a directory: '.+'\n/);
});

test("run() masks secrets in error messages", async () => {
  const secret = `ghp_${"a".repeat(36)}`;
  const faults = [
    new Error(`refused ${secret}`),
    new TrunklineError("unavailable", `Cannot use ${secret}`),
    new Error("outer", { cause: new Error(secret) }),
  ];
  for (const error of faults) {
    const { err } = await runSample("serve --verbose", () => Promise.reject(error));
    assert.ok(!err.includes(secret), err);
  }
});

test("run() prints the version, for people and for programs", async () => {
  const plain = await runSample("--version");
  assert.equal(plain.code, 0);
  assert.match(plain.out, /^trunkline \d+\.\d+\.\d+\S*\n$/);
  const json = await runSample("-V --json");
  const facts = JSON.parse(json.out) as Record<string, string>;
  assert.equal(`trunkline ${facts["version"]}\n`, plain.out);
  assert.equal(facts["node"], process.version);
});

test("run() escapes hidden characters for people, and keeps JSON unchanged", async () => {
  const value = { name: "a\u202eb\u001b[2J" };
  const { out, err } = await runSample("draw circle x", (given) => {
    given.out(`${JSON.stringify(value)}\n`);
    given.err("\u009b31mred\n");
    given.data("\u202e\n");
    throw new TrunklineError("not-found", "There is no tool 'a\u200b'.");
  });
  const [json = "", data] = out.split("\n");
  assert.equal(json, String.raw`{"name":"a\u202eb\u001b[2J"}`);
  assert.deepEqual(JSON.parse(json), value);
  assert.equal(data, String.raw`\u202e`);
  assert.match(err, /^\\u009b31mred\n/);
  assert.match(err, /There is no tool 'a\\u200b'\./);
});

test("run() takes a name from before, and says the new one, but not to a program", async () => {
  const { code, err, invocation } = await runSample("cover a b");
  assert.deepEqual(invocation?.positionals, ["a", "b"]);
  assert.equal(code, 0);
  assert.equal(err, "'trunkline cover' is now 'trunkline wrap'.\n");
  assert.equal((await runSample("cover a b --json")).err, "");
  assert.equal((await runSample("wrap a b")).err, "");
});
