import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpHouse } from "../../../test/support/acp-house.ts";
import { chunk } from "../../../test/support/scripted-agent.ts";
import { covers } from "../../../test/requirements/acp.ts";

describe("an update that is too large for one message", { timeout: 30_000 }, () => {
  it("sends an update over 100 KB in several, and shortens what cannot be parted", async () => {
    covers("size.update");
    const long = "ä\0😀\n".repeat(60_000);
    await using house = await AcpHouse.open({
      script: async (turn) => {
        await turn.update(chunk(long));
        await turn.update({
          sessionUpdate: "tool_call",
          toolCallId: "t",
          title: "Edit",
          content: [{ type: "diff", path: "/a", oldText: "x".repeat(300_000), newText: "y" }],
        });
      },
    });
    const { client, sessionId } = await house.client();
    await client.prompt(sessionId, "x");
    assert.equal(client.text, long);
    for (const message of client.messages) {
      assert.ok(Buffer.byteLength(JSON.stringify(message)) <= 100 * 1024);
    }
    const tool = client.updates.at(-1);
    assert.equal(tool?.title, "Edit");
    assert.match(tool?.content[0].oldText, /… \(\d+ characters more\)$/);
  });
});
