import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { connectionTo } from "../../../test/support/linked-plugin.ts";
import { TrunklineError } from "../../base/errors.ts";
import { BusClient } from "../../protocol/bus/connect.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { PeerCertificate } from "../../wire/quic/connection.ts";
import { CONTROL_NAME, newGuests } from "../guests.ts";
import type { Plugin, PluginStatus } from "../plugin/plugin.ts";
import { CONTROL, serveControl } from "./serve-control.ts";

const STATUS: PluginStatus = {
  ...{ id: "notes", state: "up", since: "2026-01-01T00:00:00.000Z" },
  ...{ tools: 1, prompts: 0, restarts: 0, calls: 0, waiting: 0 },
  limits: { call: 1_000, calls: 8, queue: 16 },
};

/** What a caller of that name gets. */
async function call(caller: string, toolName: string, args: { id?: string } = {}) {
  const orchestrator = {
    status: () => [STATUS],
    plugin: (id: string): Plugin => {
      if (id !== "notes") throw new TrunklineError("not-found", `There is no plugin '${id}'`);
      const restarted = { ...STATUS, restarts: 1 };
      return { said: ["one", "two"], restart: async () => {}, status: () => restarted } as never;
    },
  };
  const guests = newGuests({ rightsOf: () => undefined });
  const handlers = serveControl(orchestrator, guests, {
    toolCall: () => ({ case: "toolCall", value: { success: true, result: { text: "another" } } }),
  });
  const dial = () => connectionTo(handlers, { name: caller } as PeerCertificate);
  await using client = new BusClient({ name: "The bus", dial });
  const answer = await client.ask({ case: "toolCall", value: { toolName, arguments: args } });
  return answerOf("It", answer, "toolCall");
}

describe("serveControl()", () => {
  it("shows the state and logs of plugins, and restarts one", async () => {
    const listed = await call(CONTROL_NAME, CONTROL.list);
    assert.deepEqual(listed.result?.plugins, [STATUS]);
    const logs = await call(CONTROL_NAME, CONTROL.logs, { id: "notes" });
    assert.deepEqual(logs.result?.lines, ["one", "two"]);
    const { result } = await call(CONTROL_NAME, CONTROL.restart, { id: "notes" });
    assert.deepEqual(result?.plugin, { ...STATUS, restarts: 1 });
  });

  it("reports an unknown plugin", async () => {
    const answer = await call(CONTROL_NAME, CONTROL.logs, { id: "nots" });
    assert.deepEqual([answer.success, answer.errorCode], [false, "tool_not_found"]);
    assert.match(answer.errorMessage, /no plugin 'nots'/);
  });

  it("answers nobody else, and forwards every other call", async () => {
    const refused = await call("transport.stdio-client", CONTROL.list);
    assert.deepEqual([refused.success, refused.errorCode], [false, "untrusted"]);
    assert.equal((await call("anybody", "constructor")).result?.text, "another");
  });
});
