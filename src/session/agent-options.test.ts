import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { conversationFor } from "../agent/external-foreign.ts";
import { agentOptions } from "./agent-options.ts";
import type { Agent } from "./agent.ts";
import type { Session } from "./session.ts";
import type { SessionStore } from "./store.ts";

describe("what an agent reads of a session that was moved", () => {
  const told = async (moved: object | undefined): Promise<string> => {
    const events = [
      {
        kind: "prompt",
        turnId: "t",
        by: "z",
        prompt: [{ type: "text", text: "Mend /old/app/a.ts" }],
      },
      {
        kind: "update",
        update: { sessionUpdate: "tool_call", toolCallId: "1", title: "Edit /old/app" },
      },
      {
        kind: "update",
        update: {
          sessionUpdate: "agent_message_chunk",
          content: { type: "text", text: "Not /old/app2, nor /older/app-x. C:\\old\\app too" },
        },
      },
      { kind: "end", turnId: "t", stopReason: "end_turn" },
    ].map((message, at) => ({ seq: at + 1, at, direction: "agent" as const, message }));
    async function* read() {
      yield events;
    }
    const session = { id: "s", last: 4, notes: { moved }, revoked: new AbortController().signal };
    const options = agentOptions(
      session as unknown as Session,
      { cwd: "/new/app", additionalDirectories: [], mcpServers: [] },
      { name: "a" } as Agent,
      { store: { read } as unknown as SessionStore, log: {} as never, isOld: true },
    );
    const [{ resource } = {}] = (await conversationFor(options.history)) as { resource?: object }[];
    return (resource as { text: string }).text;
  };

  it("names the folder of today, and no other one", async () => {
    const folders = ["/old/app", "C:\\old\\app", "/"];
    const text = await told({ folders, top: "/new/app" });
    assert.match(text, /Person: Mend \/new\/app\/a\.ts\n\nAgent: \n\(Edit \/new\/app\)/);
    assert.match(text, /Not \/old\/app2, nor \/older\/app-x\. \/new\/app too/);
  });

  it("is as it was said where the session never moved", async () => {
    for (const moved of [undefined, { folders: [], top: "" }, { folders: ["/"], top: "/x" }]) {
      assert.match(await told(moved), /Mend \/old\/app\/a\.ts/);
    }
  });
});
