import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { denseMessages, LARGEST } from "./dense-messages.ts";
import { Measuring, measuredProgram, withProgram } from "./measured-program.ts";

describe("the largest messages that there can be", { timeout: 300_000 }, () => {
  it("hold the program's thread for 50 ms at most, each of them at once", async (t) => {
    const program = measuredProgram(["mcp"]);
    const ask = async (
      name: string,
      id: string | null | undefined,
      line: Buffer,
    ): Promise<void> => {
      program.lines.length = 0;
      program.child.stdin.write(line);
      // It is answered after all that came before.
      program.write(`{"jsonrpc":"2.0","id":"after","method":"ping"}`);
      await program.until(({ lines }) => lines.some((text) => text.includes(`"id":"after"`)));
      const [answer = "", ...more] = program.lines;
      assert.equal(more.length, 1, `${name}: ${more.length} answers`);
      if (id !== undefined && answer.startsWith("{"))
        assert.equal((JSON.parse(answer) as { id: unknown }).id, id, name);
    };
    await withProgram(program, async () => {
      // What is measured is the code as it runs after a while.
      for (let round = 0; round < 20; round++) {
        for (const [name, , line] of denseMessages(100_000)) await ask(name, undefined, line);
      }
      let worst = { name: "", stall: 0 };
      const before = await Measuring.begin(program);
      for (const [name, id, line] of denseMessages(LARGEST)) {
        const measuring = await Measuring.begin(program);
        await ask(name, id, line);
        const stall = measuring.expectNoStall(name);
        if (stall > worst.stall) worst = { name, stall };
      }
      t.diagnostic(`worst: ${worst.name}, ${worst.stall} ms`);
      await before.expectBounded({ kept: 10, rss: 250 });
      program.child.stdin.end();
      assert.equal(await program.exit, 0);
    });
  });
});
