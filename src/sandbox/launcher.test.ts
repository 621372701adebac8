import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { type Launch, launcher, NO_LANDLOCK } from "./launcher.ts";
import { systemProgram } from "./remedy.ts";

const folder = mkdtempSync(join(tmpdir(), "launcher-"));

const SHELL: Launch = { program: "/bin/sh", args: [], cwd: "/usr", variables: {} };
const NONE: readonly number[] = [];
const ENV = { PATH: "/usr/bin:/bin", OUTER: "1" };

/** Another processor's, where a program can stand for it. */
const emulator = systemProgram("qemu-aarch64-static");

function run(launch: Partial<Launch>, { arch = process.arch, env = ENV, inherits = NONE } = {}) {
  const file = join(folder, crypto.randomUUID());
  writeFileSync(file, launcher({ ...SHELL, ...launch }, arch), { mode: 0o755 });
  const words = arch === process.arch ? [file] : [emulator ?? "", file];
  const { stdout, stderr, status } = spawnSync(words[0] ?? "", words.slice(1), {
    ...{ env, encoding: "utf8" },
    // Whoever reads a pipe that an emulated program writes to would wait for the emulator.
    stdio: ["ignore", "pipe", "pipe", ...inherits],
  });
  return { stdout, stderr, status };
}

describe("launcher()", { skip: process.platform !== "linux" && "It is for Linux." }, () => {
  after(() => rmSync(folder, { recursive: true }));
  const SHOW = 'pwd; printf "<%s>" "$@"; env | grep -E "OUTER|INNER|EMPTY" | sort';
  const SHOWN = "/usr\n<a b><><=>EMPTY=\nINNER=x y=z\nOUTER=1\n";
  const whole = {
    args: ["-c", SHOW, "sh", "a b", "", "="],
    variables: { INNER: "x y=z", EMPTY: "" },
  };

  it("becomes the program, in its folder, with its variables and those that are there", () => {
    assert.deepEqual(run(whole), { stdout: SHOWN, stderr: "", status: 0 });
  });

  const none = emulator === undefined && "Install: sudo apt-get install qemu-user-static";
  it(
    "does the same on another processor",
    { skip: process.arch === "x64" ? none : "Only on x64." },
    () => {
      assert.deepEqual(run(whole, { arch: "arm64" }), { stdout: SHOWN, stderr: "", status: 0 });
    },
  );

  it("says what it cannot do, and starts nothing then", () => {
    const here = { args: ["-c", "echo began"] };
    const failed = (launch: Partial<Launch>) => run({ ...here, ...launch });
    const words = (says: string) => ({ stdout: "", stderr: `trunkline: ${says}\n`, status: 126 });
    assert.deepEqual(
      failed({ cwd: "/not there" }),
      words("cannot enter the folder '/not there' in the sandbox"),
    );
    assert.deepEqual(
      failed({ program: "/nothing" }),
      words("cannot start '/nothing' in the sandbox"),
    );
    assert.deepEqual(
      failed({ listener: { port: 0, channel: 99 } }),
      words("cannot listen in the sandbox"),
    );
    const rules = { rights: 40 as 16, read: [], write: [] };
    assert.deepEqual(failed({ landlock: rules }), words(NO_LANDLOCK));
    assert.throws(() => launcher(SHELL, "riscv64"), { code: "unavailable", message: /riscv64/ });
    const cut = { variables: { TOKEN: "secret\0more" } };
    const why = "its command line, its folder or a variable has a zero byte";
    const message = `Cannot start a program in a sandbox: ${why}.`;
    assert.throws(() => failed(cut), { code: "usage", message });
  });

  it("passes on as many variables as the kernel does", () => {
    const names = Array.from({ length: 135_000 }, (_, at) => at.toString(36));
    const many = Object.fromEntries(names.map((name) => [name, ""]));
    const launch = { program: "/usr/bin/env", variables: { INNER: "2" } };
    const { stdout } = run(launch, { env: { ...ENV, ...many } });
    const shown = stdout.trim().split("\n");
    assert.equal(shown.length, names.length + 3);
    assert.deepEqual(
      shown.filter((line) => !line.endsWith("=")),
      ["INNER=2", ...Object.entries(ENV).map((each) => each.join("="))],
    );
  });

  it("passes on no open file but the standard ones", () => {
    const machine = openSync("/", "r");
    const args = ["-c", "readlink /proc/$$/fd/0 /proc/$$/fd/3"];
    const { stdout } = run({ args }, { inherits: [machine] });
    closeSync(machine);
    assert.equal(stdout, "/dev/null\n");
  });
});
