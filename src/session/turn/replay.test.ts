import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpHouse } from "../../../test/support/acp-house.ts";

describe("an agent that takes a session up again", { timeout: 30_000 }, () => {
  it("gives an agent that looks late what was said before, and not the prompt of now", async () => {
    const known: unknown[] = [];
    await using house = await AcpHouse.open({
      script: async (_turn, session) => {
        for await (const entry of session.options.history ?? []) {
          if (entry.kind === "prompt") known.push(entry.prompt[0]?.text);
        }
      },
    });
    const { client, sessionId } = await house.client();
    await client.prompt(sessionId, "one");
    await house.stop();
    await house.start();
    const later = house.connect();
    await later.initialize();
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await later.prompt(sessionId, "two");
    assert.deepEqual(known, ["one"]);
  });
});
