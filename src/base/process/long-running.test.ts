import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

const MODULE = JSON.stringify(new URL("./long-running.ts", import.meta.url).href);

/** Runs a program that has the module as `it`; `do` gets the process once it says "ready". */
async function runProgram(
  source: string,
  act: (child: ReturnType<typeof spawn>) => void,
): Promise<{ code: number | null; out: string; err: string }> {
  const program = `const it = await import(${MODULE});\n${source}`;
  const args = ["--input-type=module", "--eval", program];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.once("data", () => act(child));
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, out, err };
}

describe("untilSignal()", { timeout: 30_000 }, () => {
  it("resolves with the first signal, and ignores the echo of it", async () => {
    const source = `
      // However busy the machine is, the second comes at once.
      performance.now = () => 0;
      const signalled = it.untilSignal();
      console.log("ready");
      const keep = setInterval(() => {}, 1000);
      console.log(await signalled);
      process.once("SIGINT", () => { clearInterval(keep); });
      console.log("echo");
    `;
    const { code, out } = await runProgram(source, (child) => {
      child.kill("SIGTERM");
      child.stdout?.on("data", (chunk: Buffer) => {
        if (chunk.includes("echo")) child.kill("SIGINT");
      });
    });
    assert.equal(code, 0);
    assert.equal(out, "ready\nSIGTERM\necho\n");
  });

  it("ends the process if a later signal says that stopping takes too long", async () => {
    const source = `
      const now = performance.now.bind(performance);
      let skipped = 0;
      performance.now = () => now() + skipped;
      const signalled = it.untilSignal();
      console.log("ready");
      setInterval(() => {}, 1000);
      await signalled;
      skipped = 5000;
      console.log("stopping");
    `;
    const { code } = await runProgram(source, (child) => {
      child.kill("SIGINT");
      child.stdout?.on("data", (chunk: Buffer) => {
        if (chunk.includes("stopping")) child.kill("SIGINT");
      });
    });
    assert.equal(code, 1);
  });
});

describe("outliveRejections()", { timeout: 30_000 }, () => {
  it("keeps the process alive after an unhandled rejection, and logs it", async () => {
    const source = `
      it.outliveRejections({ error: (event, { error }) => console.log(event, error.message) });
      console.log("ready");
      Promise.reject(new Error("lost"));
      setTimeout(() => console.log("alive"), 20);
    `;
    const { code, out } = await runProgram(source, () => {});
    assert.equal(code, 0);
    assert.equal(out, "ready\nprocess.rejection lost\nalive\n");
  });
});
