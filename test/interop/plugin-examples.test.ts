import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { shellQuote } from "../../src/base/text/shell-word.ts";
import { BusHome } from "../support/bus-home.ts";
import { Program } from "../support/program.ts";
import { unpackDebianPackages } from "./quic-go/debian-packages.ts";
import { goProgram } from "./quic-go/peer.ts";

const ROOT = join(import.meta.dirname, "../..");
const EXAMPLES = join(ROOT, "docs/examples");
const PROTOBUF = join(ROOT, ".cache/python3-protobuf");
const BUF = join(ROOT, "node_modules/.bin/buf");

interface CheckedRule {
  readonly rule: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly why?: string;
}

/** What the kit finds in a plugin, as people run it. */
async function check(home: BusHome, program: string): Promise<readonly CheckedRule[]> {
  const calls = ["--tool=greet", '--args={"name":"Ada"}', "--timeout=20"];
  const given = ["--json", "--data", home.data, ...calls, program];
  await using testing = new Program(["plugin", "test", ...given]);
  testing.child.stdin.end();
  await testing.exit;
  const out = testing.lines.join("\n");
  assert.notEqual(out, "", testing.stderr);
  return (JSON.parse(out) as { readonly rules: readonly CheckedRule[] }).rules;
}

/** The rules that do not hold, and how many do. */
async function verdict(home: BusHome, program: string) {
  const rules = await check(home, program);
  const of = (wanted: CheckedRule["outcome"]) => rules.filter(({ outcome }) => outcome === wanted);
  return { failed: of("failed").map(({ rule }) => rule), passed: of("passed").length };
}

/** Rules that are kept by a plugin with one tool: none of storage and of streaming tools. */
const KEPT = 33;

/** Its tool, called over a bus that has started it. */
async function greeting(home: BusHome, id: string, binary: string): Promise<string> {
  const orchestrator = await home.orchestrator([{ id, binary }]);
  await orchestrator.logged("plugin.up");
  return (await home.runInProcess("plugin", "call", "greet", "--args", '{"name":"Ada"}')).out;
}

/** The example in Python, changed as a test wants it, and what it needs. */
function python(home: BusHome, change: (text: string) => string = (text) => text): string {
  const folder = join(home.path, crypto.randomUUID());
  mkdirSync(folder);
  const text = readFileSync(join(EXAMPLES, "plugin-python/plugin.py"), "utf8");
  const changed = change(text);
  writeFileSync(join(folder, "plugin.py"), changed);
  const set = ["build", join(ROOT, "proto"), "--as-file-descriptor-set"];
  execFileSync(BUF, [...set, "-o", join(folder, "plugin.binpb")]);
  const program = join(folder, "plugin");
  const path = shellQuote(join(PROTOBUF, "usr/lib/python3/dist-packages"));
  const env = `PYTHONPATH=${path} PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python`;
  const script = `exec env ${env} python3 ${shellQuote(join(folder, "plugin.py"))} "$@"`;
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  return program;
}

describe("the plugin in Python without an SDK", { timeout: 600_000 }, () => {
  before(async () => {
    if (!existsSync(PROTOBUF))
      await unpackDebianPackages("bookworm", ["python3-protobuf"], PROTOBUF);
  });

  it("keeps all rules of the kit, and is called over a bus", async () => {
    await using home = new BusHome();
    assert.deepEqual(await verdict(home, python(home)), { failed: [], passed: KEPT });
    assert.equal(await greeting(home, "example.python", python(home)), "Hello, Ada.");
  });

  for (const [rule, from, to] of [
    [
      "tls.certificate",
      "made.verify_mode = ssl.CERT_REQUIRED",
      "made.check_hostname = False\n    made.verify_mode = ssl.CERT_NONE",
    ],
    ["stream.room", "            send(writer, ROOM,", "            False and send(writer, ROOM,"],
    ["plugin.same", `named = {"id": ID,`, `named = {"id": ID + ".other",`],
    ["plugin.provides", `{"tools": [TOOL]}`, `{"tools": [TOOL, {**TOOL, "name": "rm"}]}`],
  ] as const) {
    it(`breaks '${rule}' with one line changed, and the kit finds it`, async () => {
      await using home = new BusHome();
      const program = python(home, (text) => {
        assert.ok(text.includes(from));
        return text.replace(from, to);
      });
      const { failed } = await verdict(home, program);
      assert.ok(failed.includes(rule), failed.join());
    });
  }
});

describe("the plugin in Go without an SDK", { timeout: 600_000 }, () => {
  it("keeps all rules of the kit, and is called over a bus", async () => {
    await using home = new BusHome();
    const built = await goProgram("plugingo", [join(EXAMPLES, "plugin-go/main.go")]);
    const program = join(home.path, "plugin-go");
    copyFileSync(built, program);
    assert.deepEqual(await verdict(home, program), { failed: [], passed: KEPT });
    assert.equal(await greeting(home, "example.go", program), "Hello, Ada.");
  });
});
