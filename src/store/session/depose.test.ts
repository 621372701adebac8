import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";

import { until } from "../../../test/support/until.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { SessionLog } from "./session-log.ts";

const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
const NEW = { id: "s1", cwd: "/w", agent: "a", notes: {} };

/** Another process that holds a session, appends to it, and has a command running for it. */
class SpeakingProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  #said = "";

  constructor(data: string) {
    const script = `
      const { SessionLog } = await import(${module("./session-log.ts")});
      const { OwnedChild } = await import(${module("../../base/process/child-process.ts")});
      const log = await SessionLog.open(${JSON.stringify(data)}, {
        lost: (id) => console.log("lost", id),
      });
      console.log("holder", log.holder);
      const { key } = await log.create(${JSON.stringify(NEW)});
      const other = await log.create(${JSON.stringify({ ...NEW, id: "s2" })});
      for (const session of ["s1", "s2"]) {
        const child = await OwnedChild.start({
          command: "/bin/sh", args: ["-c", "sleep 1000 & setsid sleep 1000 & wait"],
          env: process.env, serves: session,
        });
        child.exit.then((exit) => console.log("child of", session, "ended by", exit));
        console.log("child", session, child.pid);
      }
      const say = async (to, text) => {
        try { await log.append(to.key, "agent", JSON.stringify(text)).stored; return "stored"; }
        catch (error) { return error.message; }
      };
      for (let at = 1; ; at++) {
        const end = await say({ key }, at);
        console.log("said", at, end);
        if (end !== "stored") break;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      console.log("notes", await log.describe(key, { title: "late" }).then(() => "", (error) => error.message));
      console.log("other", await say(other, "still"));
      await log.release(key);
      console.log("released");
      setInterval(() => {}, 1000);`;
    const args = ["--input-type=module", "-e", script];
    this.#child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#child.stdout?.on("data", (bytes: Buffer) => (this.#said += bytes.toString()));
  }

  async says(words: RegExp): Promise<string> {
    await until(() => words.test(this.#said));
    return words.exec(this.#said)?.[1] ?? "";
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a session whose holder is stopped", { timeout: 60_000 }, () => {
  it("is taken from it: what it had started ends, and nothing that it writes later counts", async () => {
    await using folder = await SampleFolder.create();
    await using frozen = new SpeakingProcess(folder.path);
    await frozen.says(/said 20 stored/);
    const holder = await frozen.says(/^holder (.*)$/m);
    const [own, others] = [
      Number(await frozen.says(/^child s1 (.*)$/m)),
      Number(await frozen.says(/^child s2 (.*)$/m)),
    ];
    frozen.signal("SIGSTOP");
    await using log = await SessionLog.open(folder.path);
    await assert.rejects(log.hold("s1"), { code: "conflict", holder });
    await log.depose("s1", holder);
    const { key, last } = await log.hold("s1");
    assert.ok(last >= 20);
    await log.append(key, "agent", '"taken"').stored;
    // Its parent is stopped, so it stays in the table of processes.
    assert.ok(isRunning(others));
    frozen.signal("SIGCONT");
    await frozen.says(/child of s1 ended by SIGKILL/);
    assert.ok(!isRunning(own));
    assert.match(
      await frozen.says(/^said \d+ (A.*)$/m),
      /^Another Trunkline has taken session 's1'/,
    );
    await frozen.says(/^lost s1$/m);
    assert.match(
      await frozen.says(/^notes (.*)$/m),
      new RegExp(`^Session 's1' is open in another Trunkline \\(process ${process.pid}\\)`),
    );
    await frozen.says(/^other stored$/m);
    await frozen.says(/^released$/m);
    assert.equal(await log.holderOf("s1"), log.holder);
    assert.equal((await log.find("s1"))?.title, undefined);
    await log.append(key, "agent", '"after"').stored;
    const said = (await Array.fromAsync(log.read("s1"))).flat().map(({ message }) => message);
    const range = Array.from({ length: last }, (_, at) => at + 1);
    assert.deepEqual(said, [...range, "taken", "after"]);
  });
});
