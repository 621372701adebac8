import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { OwnedChild } from "./child-process.ts";

const env = { PATH: process.env["PATH"] };
const node = (script: string) => ({ command: process.execPath, args: ["-e", script], env });

/** Keeps running whatever happens to its input. */
const STAYS = `setInterval(() => {}, 1000); process.stdout.write("ready\\n");`;

async function firstLine(child: OwnedChild): Promise<string> {
  for await (const line of createInterface(child.stdout)) return line;
  return "";
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(10);
}

describe("OwnedChild", { timeout: 20_000 }, () => {
  it("ends by the end of its input", async () => {
    const child = await OwnedChild.start(node(`process.stdin.resume()`));
    await child.end();
    assert.equal(await child.exit, 0);
  });

  it("is terminated when the end of its input does not end it", async () => {
    const child = await OwnedChild.start({ ...node(STAYS), grace: 50 });
    await firstLine(child);
    await child.end();
    assert.equal(await child.exit, "SIGTERM");
  });

  it("is killed when it does not heed that either", async () => {
    const script = `process.on("SIGTERM", () => {}); ${STAYS}`;
    const child = await OwnedChild.start({ ...node(script), grace: 50 });
    await firstLine(child);
    await child.end();
    assert.equal(await child.exit, "SIGKILL");
  });

  it("takes along what it has started", async () => {
    const script = `
      const { spawn } = require("node:child_process");
      const inner = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
      console.log(inner.pid);
      process.stdin.resume();`;
    const child = await OwnedChild.start({ ...node(script), grace: 50 });
    const inner = Number(await firstLine(child));
    assert.ok(isAlive(inner));
    await child.end();
    await gone(inner);
  });

  it("tells what it says on stderr, by the line and cut to a length", async () => {
    const lines: string[] = [];
    const said = Promise.withResolvers<void>();
    const script = `process.stderr.write("one\\n" + "x".repeat(10000) + "\\n\\nlast")`;
    const stderr = (line: string): void => {
      lines.push(line);
      if (line === "last") said.resolve();
    };
    await using child = await OwnedChild.start({ ...node(script), stderr });
    await child.exit;
    await said.promise;
    assert.deepEqual(
      lines.map(({ length }) => length),
      [3, 4096, 4],
    );
  });

  it("says what to do when it cannot be started", async () => {
    const starting = OwnedChild.start({ command: "no-such-program-here", env });
    await assert.rejects(starting, {
      code: "unavailable",
      message:
        "Cannot start 'no-such-program-here': no such program. Check the command, or install it.",
    });
  });

  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    it(`does not outlive its owner, when that is ended by ${signal}`, async () => {
      const module = join(import.meta.dirname, "child-process.ts");
      const script = `
        const { OwnedChild } = await import(${JSON.stringify(module)});
        const child = await OwnedChild.start({
          command: process.execPath,
          args: ["-e", ${JSON.stringify(`process.on("SIGTERM", () => {}); ${STAYS}`)}],
          env: process.env,
        });
        child.stdout.once("data", () => console.log(child.pid));`;
      const owner = spawn(process.execPath, ["--input-type=module", "-e", script]);
      const errors = text(owner.stderr);
      let pid = 0;
      for await (const line of createInterface(owner.stdout)) {
        pid = Number(line);
        break;
      }
      assert.ok(pid > 0, pid > 0 ? "" : await errors);
      owner.kill(signal);
      if (owner.signalCode === null) await once(owner, "exit");
      await gone(pid);
    });
  }

  it("does not keep its owner from ending", async () => {
    const module = join(import.meta.dirname, "child-process.ts");
    const script = `
      const { OwnedChild } = await import(${JSON.stringify(module)});
      const child = await OwnedChild.start({ command: "cat", env: process.env });
      await child.end();`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: "ignore",
    });
    const [code] = (await once(owner, "exit")) as [number];
    assert.equal(code, 0);
  });
});
