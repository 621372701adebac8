import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

const MODULE = JSON.stringify(import.meta.resolve("./stdio.ts"));
const ENDED = 7;

/** A program that claims its standard streams, echoes, and writes to stdout in every other way. */
const PROGRAM = `
  const early = console.log;
  const { Console } = await import("node:console");
  const mine = new Console(process.stdout);
  const { stdioChannel } = await import(${MODULE});
  const channel = stdioChannel({ closeGrace: 500, maxUnsent: 1_000_000, highWater: 100_000 });
  channel.receive({
    message(message) {
      early("stray 1");
      console.log("stray 2 %d", 5);
      mine.info("stray 3");
      process.stdout.write("stray 4\\n");
      process.stdout.write(Buffer.from("stray 5\\n"));
      void channel.send("echo " + message);
      if (message === "flood") {
        setInterval(() => void channel.send("x".repeat(100_000)), 1);
      }
    },
    fault() {},
    end(error) {
      process.exitCode = ${ENDED};
      process.stderr.write("end " + (error?.message ?? "in order") + "\\n");
      console.log("stray 6");
      void channel[Symbol.asyncDispose]().then(() => process.exit());
    },
  });
  console.log("stray 0");
`;

class Child implements AsyncDisposable {
  readonly process: ChildProcessWithoutNullStreams;
  readonly exit: Promise<unknown>;

  constructor() {
    this.process = spawn(process.execPath, ["--input-type=module", "--eval", PROGRAM]);
    this.process.stdin.on("error", () => {});
    this.exit = once(this.process, "exit").then(([code]) => code as unknown);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill("SIGKILL");
    await this.exit;
  }
}

describe("stdioChannel", { timeout: 600_000 }, () => {
  it("leaves stdout to the protocol, and redirects everything else to stderr", async () => {
    await using child = new Child();
    const { stdin, stdout, stderr } = child.process;
    stdin.end("a\nb\n");
    const [out, diagnostics] = await Promise.all([text(stdout), text(stderr)]);
    assert.equal(out, "echo a\necho b\n");
    const strays = ["stray 1", "stray 2 5", "stray 3", "stray 4", "stray 5"];
    const expected = ["stray 0", ...strays, ...strays, "end in order", "stray 6"];
    assert.deepEqual(diagnostics.trimEnd().split("\n"), expected);
    assert.equal(await child.exit, ENDED);
  });

  it("ends the conversation, without a crash, when nobody reads stdout any more", async () => {
    await using child = new Child();
    const { stdin, stdout, stderr } = child.process;
    stdin.write("a\n");
    await once(stdout, "data");
    stdout.destroy();
    await once(stdout, "close");
    const diagnostics = text(stderr);
    stdin.write("b\n");
    assert.equal(await child.exit, ENDED);
    assert.match(await diagnostics, /^end .*EPIPE/m);
  });

  it("does not crash when nobody reads stderr any more either", async () => {
    await using child = new Child();
    const { stdin, stdout, stderr } = child.process;
    stdin.write("a\n");
    await once(stdout, "data");
    stderr.destroy();
    await once(stderr, "close");
    stdin.write("b\n");
    const [echo] = (await Promise.race([once(stdout, "data"), once(stdout, "end")])) as [unknown];
    assert.equal(String(echo), "echo b\n");
    stdout.destroy();
    await once(stdout, "close");
    stdin.write("c\n");
    assert.equal(await child.exit, ENDED);
  });

  it("closes if a reader never reads, without blocking", async () => {
    await using child = new Child();
    const { stdin, stderr } = child.process;
    const diagnostics = text(stderr);
    stdin.write("flood\n");
    assert.equal(await child.exit, ENDED);
    assert.match(await diagnostics, /^end Peer does not read/m);
  });
});
