import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpHouse } from "../../../test/support/acp-house.ts";
import { chunk } from "../../../test/support/scripted-agent.ts";

describe("a turn whose process died", { timeout: 30_000 }, () => {
  it("is reported as interrupted", async () => {
    const tool = { sessionUpdate: "tool_call", toolCallId: "t", title: "Long", status: "pending" };
    await using house = await AcpHouse.open({
      script: async (turn) => {
        await turn.update(chunk("half"));
        await turn.update(tool);
        await new Promise(() => {});
      },
    });
    const { client, sessionId } = await house.client();
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "Hello" }] });
    await client.find(({ params }) => params?.update?.sessionUpdate === "tool_call");
    // Another house finds what this one left, as after a SIGKILL.
    const { sessions, log } = house;
    await house.start();
    const later = house.connect();
    await later.initialize({ session: { notices: {} } });
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.deepEqual(
      later.updates.map(({ sessionUpdate, status }) => [sessionUpdate, status]),
      [
        ["user_message_chunk", undefined],
        ["agent_message_chunk", undefined],
        ["tool_call", "pending"],
        ["tool_call_update", "failed"],
        ["notice", undefined],
        ["available_commands_update", undefined],
      ],
    );
    const plain = house.connect();
    await plain.initialize();
    await plain.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.match(plain.text, /^half\n\n\[This turn was interrupted: .*\]\n\n$/);
    const history = [];
    for await (const entry of house.agent.sessions[1]?.options.history ?? []) {
      history.push(entry.kind === "end" ? entry.stopReason : entry.kind);
    }
    assert.ok(history.includes("interrupted"));
    void sessions;
    log.database[Symbol.dispose]();
  });
});
