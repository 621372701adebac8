import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { bodyOf, decodeResponse } from "../../src/protocol/bus/codec.ts";
import { encodeFrame } from "../../src/wire/framing/length-prefixed.ts";
import { connect } from "../../src/wire/quic/transport.ts";
import { busCredentials } from "../support/bus-healthy.ts";
import { BusHome } from "../support/bus-home.ts";
import { oneIn } from "../support/full-run.ts";
import { denseFrames } from "./dense-frames.ts";
import { denseMessages, LARGEST } from "./dense-messages.ts";
import { seeded } from "./fuzz-run.ts";
import { MEASURED, Measuring, measuredProgram, withProgram } from "./measured-program.ts";
import { patiently } from "./patiently.ts";

const MiB = 1024 * 1024;
/** What is measured is the code as it runs after a while. */
const WARM_UP = 20;
/** Of so many messages one is tried in `npm test`, another one each day. */
const PART = 32;

describe("the most expensive messages within the limits", { timeout: 600_000 }, () => {
  it("block the thread of MCP on stdio for at most 50 ms each", async (t) => {
    const isTried = oneIn(PART, seeded(t, 7));
    const program = measuredProgram(["mcp"]);
    const ask = async (name: string, line: Buffer): Promise<string> => {
      program.lines.length = 0;
      program.child.stdin.write(line);
      // It is answered after all that came before.
      program.write(`{"jsonrpc":"2.0","id":"after","method":"ping"}`);
      await patiently(
        () => `an answer to ${name}`,
        program.until(({ lines }) => lines.some((text) => text.includes(`"id":"after"`))),
      );
      assert.equal(program.lines.length, 2, name);
      return program.lines[0] ?? "";
    };
    await withProgram(program, async () => {
      const small = [...denseMessages(100_000, isTried)];
      for (let round = 0; round < WARM_UP; round++) {
        for (const [name, , line] of small) await ask(name, line);
      }
      const before = await Measuring.begin(program);
      const stalls: [name: string, stall: number][] = [];
      for (const [name, id, line] of denseMessages(LARGEST, isTried)) {
        const measuring = await Measuring.begin(program);
        const answer = await ask(name, line);
        if (answer.startsWith("{")) assert.equal(idOf(answer), id, name);
        stalls.push([name, measuring.expectNoStall(name)]);
      }
      t.diagnostic(worstOf(stalls));
      await before.expectBounded({ kept: 10, rss: 250 });
      program.child.stdin.end();
      assert.equal(await program.exit, 0);
    });
  });

  it("block the thread of the bus for at most 50 ms each", async (t) => {
    const isTried = oneIn(PART, seeded(t, 8));
    await using home = new BusHome();
    const { addr, program } = await home.orchestrator([], "localhost:0", { nodeArgs: MEASURED });
    const credentials = await busCredentials(home.certs, "bad-client");
    await using connection = await connect(addr, { credentials });
    const ask = async (name: string, body: Buffer): Promise<string> => {
      const stream = connection.openStream();
      stream.end(encodeFrame(body)).catch(() => {});
      const bytes = await patiently(() => `an answer to ${name}`, stream.readAll(MiB));
      return decodeResponse(bodyOf(bytes)).requestId;
    };
    const small = [...denseFrames(0.01)].filter((_, place) => isTried(place));
    for (let round = 0; round < WARM_UP; round++) {
      for (const [name, , body] of small) await ask(name, body);
    }
    const before = await Measuring.begin(program);
    const stalls: [name: string, stall: number][] = [];
    for (const [name, id, body] of denseFrames(1).filter((_, place) => isTried(place))) {
      const measuring = await Measuring.begin(program);
      assert.equal(await ask(name, body), id, name);
      stalls.push([name, measuring.expectNoStall(name)]);
    }
    t.diagnostic(worstOf(stalls));
    await before.expectBounded({ kept: 10, rss: 250 });
  });
});

function idOf(answer: string): unknown {
  return (JSON.parse(answer) as { id: unknown }).id;
}

function worstOf(stalls: readonly [name: string, stall: number][]): string {
  const [name, stall] = stalls.toSorted(([, a], [, b]) => b - a)[0] ?? ["", 0];
  return `worst: ${name}, ${stall.toFixed(1)} ms`;
}
