import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { type Launch, launcher, NO_LANDLOCK } from "./launcher.ts";
import { systemProgram } from "./remedy.ts";

const folder = mkdtempSync(join(tmpdir(), "launcher-"));

const SHELL: Launch = { program: "/bin/sh", args: [], cwd: "/usr", variables: {} };
const ENV = { PATH: "/usr/bin:/bin", OUTER: "1" };

/** Another processor's, where a program can stand for it. */
const emulator = systemProgram("qemu-aarch64-static");

function run(launch: Partial<Launch>, { arch = process.arch, env = ENV } = {}) {
  const file = join(folder, crypto.randomUUID());
  writeFileSync(file, launcher({ ...SHELL, ...launch }, arch), { mode: 0o755 });
  const words = arch === process.arch ? [file] : [emulator ?? "", file];
  const { stdout, stderr, status } = spawnSync(words[0] ?? "", words.slice(1), {
    ...{ env, encoding: "utf8" },
    // Whoever reads a pipe that an emulated program writes to would wait for the emulator.
    input: "",
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
  });

  it("passes on as many variables as the kernel does", () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`V${at}`, "x"]));
    const args = ["-c", "env | grep -c ^V; echo $OUTER $INNER"];
    const { stdout } = run({ args, variables: { INNER: "2" } }, { env: { ...ENV, ...many } });
    assert.equal(stdout, "20000\n1 2\n");
  });
});
