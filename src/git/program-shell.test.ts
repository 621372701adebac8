import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { before, describe, it } from "node:test";

import { TrunklineError } from "../base/errors.ts";
import { processOf } from "../base/process/process-table.ts";
import { SeededRandom } from "../../test/support/seeded-random.ts";
import { until } from "../../test/support/until.ts";
import { type ProgramRun, runProgram } from "./run-program.ts";

const ENV = { PATH: process.env.PATH };

function run(command: string, args: readonly string[], more: Partial<ProgramRun> = {}) {
  const limits = { timeout: 60_000, maxOutput: 16 * 1024 * 1024 };
  return runProgram({ command, args, env: ENV, isAlone: true, ...limits, ...more });
}

/** Who has started a program now. */
async function starter(): Promise<number> {
  return Number((await run("sh", ["-c", "echo $PPID"])).stdout);
}

async function untilGone(pid: number): Promise<void> {
  await until(() => processOf(pid) === undefined);
}

describe("A program that a shell starts", { timeout: 120_000 }, () => {
  before(async () => {
    // The first programs are started without one.
    for (let count = 0; count < 3; count++) await run("true", []);
    assert.notEqual(await starter(), process.pid);
  });

  it("gets the arguments, variables, folder and input that it would get without", async () => {
    const random = new SeededRandom(Number(process.env["TRUNKLINE_TEST_SEED"] ?? 7));
    const parts = ["'", '"', "\\", "$PATH", "`id`", "\n", " ", "-", "*", "%s", "\u{1}", "\u{7f}"];
    // In UTF-8 these contain the bytes by which dash marks quoted characters inside.
    parts.push("Á", "ঁ", "\u{10201}", "é", "=", "!", "#", "~", "\r", "\t", "(", "a");
    const text = (): string =>
      Array.from({ length: random.below(12) }, () => parts[random.below(parts.length)]).join("");
    for (let round = 0; round < 40; round++) {
      const given = {
        env: { ...ENV, ONE: text(), two_2: text(), LC_ALL: "C.UTF-8", TMPDIR: tmpdir() },
        cwd: round % 2 === 0 ? "/" : tmpdir(),
        input: text(),
      };
      const script = `pwd -P; cat; printf '|%s|%s' "$ONE" "$two_2"; printf '|%s' "$@"; env | cut -d= -f1 | sort`;
      const args = ["-c", script, text(), text(), text(), ""];
      const [there, here] = await Promise.all([
        run("sh", args, given),
        run("sh", args, { ...given, isAlone: false }),
      ]);
      assert.deepEqual(String(there.stdout), String(here.stdout));
      assert.equal(there.code, 0);
    }
  });

  it("reads nothing where it is given no input", async () => {
    assert.equal(String((await run("cat", [])).stdout), "");
  });

  it("is told from the others that run at the same time", async () => {
    const numbers = Array.from({ length: 30 }, (_, number) => number);
    const ends = await Promise.all(
      numbers.map((number) =>
        run("sh", ["-c", `echo ${number}; echo e${number} >&2; exit ${number}`]),
      ),
    );
    const seen = ends.map(({ code, stdout, stderr }) => [code, String(stdout), stderr]);
    assert.deepEqual(
      seen,
      numbers.map((number) => [number, `${number}\n`, `e${number}\n`]),
    );
  });

  it("may write much, with nothing of it lost, added or taken for another's", async () => {
    for (const length of [0, 1, 38, 39, 40, 65_535, 65_536, 1_000_000]) {
      const script = `head -c ${length} /dev/zero | tr '\\0' x; head -c ${length} /dev/zero | tr '\\0' y >&2`;
      const { stdout, stderr } = await run("sh", ["-c", script]);
      assert.ok(stdout.equals(Buffer.alloc(length, "x")), `${length}: ${stdout.length}`);
      assert.equal(stderr, "y".repeat(Math.min(length, 16 * 1024)));
    }
  });

  it("is ended where it writes more than its limit", async () => {
    const within = await run("printf", ["12345"], { maxOutput: 5 });
    assert.equal(String(within.stdout), "12345");
    await assert.rejects(run("printf", ["123456"], { maxOutput: 5 }), /limit of 5 bytes/);
    await assert.rejects(run("yes", [], { maxOutput: 5 }), /limit of 5 bytes/);
    assert.equal(String((await run("printf", ["12345"])).stdout), "12345");
  });

  it("is ended with its shell where it takes too long", async () => {
    const shell = await starter();
    const error: unknown = await run("sleep", ["60"], { timeout: 100 }).catch((each) => each);
    assert.ok(error instanceof TrunklineError && error.code === "timeout", String(error));
    await untilGone(shell);
    assert.equal((await run("true", [])).code, 0);
  });

  it("can clean up when it is called off", async () => {
    const stopper = new AbortController();
    const script = `trap 'rm "$1"; exit' TERM; echo > "$1"; while :; do sleep 0.01; done`;
    const file = `${tmpdir()}/lock`;
    const running = run("sh", ["-c", script, "sh", file], { signal: stopper.signal });
    await until(() => readdirSync(tmpdir()).includes("lock"));
    stopper.abort(new Error("called off"));
    await assert.rejects(running, /called off/);
    assert.ok(!readdirSync(tmpdir()).includes("lock"));
  });

  it("is refused in the system's words where it cannot be started", async () => {
    const errorOf = (more: Partial<ProgramRun>): Promise<unknown> =>
      run("not-a-program", [], more).catch((error: Error) => error.message);
    const words = await errorOf({ isAlone: false });
    assert.match(String(words), /^Cannot start 'not-a-program': .*ENOENT/);
    assert.equal(await errorOf({}), words);
    await assert.rejects(run("true", [], { cwd: "/not/a/folder" }), /Cannot start 'true'/);
  });

  it("shows its variables to nobody", async () => {
    const env = { ...ENV, TOKEN: "hidden-from-everybody" };
    const running = run("sh", ["-c", "sleep 0.2"], { env, input: "hidden-too" });
    const seen = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => argumentsOf(pid));
    assert.ok(seen.every((text) => !text.includes("hidden-")));
    await running;
  });

  it("costs nothing but itself where somebody kills its shell", async () => {
    const shell = await starter();
    process.kill(shell, "SIGKILL");
    assert.notEqual(await starter(), shell);
    const end = await run("sh", ["-c", "kill -9 $PPID; echo said"]);
    assert.equal(end.code, "SIGKILL");
    assert.equal((await run("true", [])).code, 0);
  });

  it("starts in a process that ends by itself, and its shells with it", async () => {
    const script = `import { runProgram } from ${JSON.stringify(import.meta.resolve("./run-program.ts"))};
      const run = () => runProgram({ command: "sh", args: ["-c", "echo $PPID"], env: { PATH: process.env.PATH },
        isAlone: true, timeout: 60_000, maxOutput: 1_000 });
      await run(); await run();
      console.log(String((await run()).stdout));
      if (process.argv[1] === "stay") setInterval(() => {}, 1_000);`;
    for (const mode of ["go", "stay"]) {
      const child = spawn(process.execPath, ["--input-type=module", "-e", script, mode], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [said] = (await once(child.stdout, "data")) as [Buffer];
      const exit = once(child, "exit");
      if (mode === "stay") child.kill("SIGKILL");
      await exit;
      assert.ok(Number(said) > 1 && Number(said) !== child.pid);
      await untilGone(Number(said));
    }
  });
});

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
