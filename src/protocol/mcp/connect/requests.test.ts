import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { RpcError } from "../../../rpc/rpc-error.ts";
import { CannotAsk } from "../../../tool/tool.ts";
import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import type { Json } from "../../../../test/upstream/raw-client.ts";
import { SampleContext } from "../../../../test/upstream/sample-context.ts";
import {
  LEGACY,
  MODERN,
  Refusal,
  type Script,
  SILENCE,
} from "../../../../test/upstream/scripted-server.ts";
import { covers } from "../../../../test/support/requirement.ts";

const M = "io.modelcontextprotocol/";

describe("McpClient.callTool()", () => {
  it("passes on members beside the arguments, but not those of a connection", async () => {
    await using pair = await ClientPair.connect(MODERN);
    const context = new SampleContext({
      meta: { traceparent: "00-1", progressToken: "theirs", [`${M}clientInfo`]: { name: "x" } },
      answers: { "roots/list": () => ({ roots: [] }) },
    });
    await pair.client.callTool("echo", { text: "hi" }, context);
    const _meta = pair.server.asked("tools/call")[0]?.["params"]._meta as Json;
    assert.equal(_meta["traceparent"], "00-1");
    assert.equal(_meta["progressToken"], 1);
    assert.equal(_meta[`${M}clientInfo`].name, "trunkline");
    const { extensions: _, ...asked } = _meta[`${M}clientCapabilities`] as Json;
    assert.deepEqual(asked, { roots: {} });
  });

  it("returns a result of one shape, with unknown members", async () => {
    const script: Script = {
      ...MODERN,
      "tools/call": () => ({
        resultType: "complete",
        content: [],
        extra: 1,
        _meta: { mine: 2, [`${M}serverInfo`]: { name: "s" } },
      }),
    };
    await using pair = await ClientPair.connect(script);
    const result = await pair.client.callTool("echo", {}, new SampleContext());
    assert.deepEqual(result, { content: [], extra: 1, _meta: { mine: 2 } });
  });

  it("says that a result is malformed whose content is no list of objects", async () => {
    for (const content of ["x", null, ["x"]]) {
      await using pair = await ClientPair.connect({ ...MODERN, "tools/call": () => ({ content }) });
      const result = await pair.client.callTool("echo", {}, new SampleContext());
      assert.equal(result.isError, true);
      assert.match(String(result.content[0]?.text), /answer is malformed: its `content`/);
    }
  });

  it("treats an answer without a type as the complete answer", async () => {
    covers("mcp.modern.absent-result-type");
    const script: Script = { ...MODERN, "tools/call": () => ({ content: [], extra: 1 }) };
    await using pair = await ClientPair.connect(script);
    const result = await pair.client.callTool("echo", {}, new SampleContext());
    assert.deepEqual(result, { content: [], extra: 1 });
  });

  it("reports to each call its own progress", async () => {
    covers("mcp.progress.client-tokens");
    const script: Script = {
      ...LEGACY,
      "tools/call": async ({ arguments: args, _meta }, server) => {
        const { progressToken } = _meta;
        server.notify("notifications/progress", { progressToken, progress: args.step, total: 9 });
        return { content: [] };
      },
    };
    await using pair = await ClientPair.connect(script);
    const [first, second] = [new SampleContext(), new SampleContext()];
    await Promise.all([
      pair.client.callTool("echo", { step: 1 }, first),
      pair.client.callTool("echo", { step: 2 }, second),
    ]);
    assert.deepEqual(first.progressed, [[1, 9, undefined]]);
    assert.deepEqual(second.progressed, [[2, 9, undefined]]);
  });

  it("notifies the server when the caller cancels", async () => {
    covers("mcp.cancellation.client");
    await using pair = await ClientPair.connect({ ...LEGACY, "tools/call": () => SILENCE });
    const context = new SampleContext();
    const calling = pair.client.callTool("echo", {}, context);
    await pair.server.until((server) => server.asked("tools/call").length === 1);
    context.abort.abort(new Error("changed my mind"));
    await assert.rejects(calling, /changed my mind/);
    await pair.server.until((server) => server.asked("notifications/cancelled").length === 1);
    const [call] = pair.server.asked("tools/call");
    const [cancelled] = pair.server.asked("notifications/cancelled");
    assert.equal(cancelled?.["params"].requestId, call?.["id"]);
    assert.equal(pair.client.callsInFlight, 0);
  });

  it("rejects with the server's own error", async () => {
    const script: Script = {
      ...LEGACY,
      "tools/call": () => {
        throw new Refusal(-32042, "First a page", { elicitations: [] });
      },
    };
    await using pair = await ClientPair.connect(script);
    await assert.rejects(pair.client.callTool("echo", {}, new SampleContext()), (error) => {
      assert.ok(error instanceof RpcError);
      assert.deepEqual([error.code, error.message], [-32042, "First a page"]);
      assert.deepEqual(error.data, { elicitations: [] });
      return true;
    });
  });

  it("says that the caller cannot be asked if the server needs that", async () => {
    const script: Script = {
      ...MODERN,
      "tools/call": () => {
        throw new Refusal(-32021, "Missing", { requiredCapabilities: { sampling: {} } });
      },
    };
    await using pair = await ClientPair.connect(script);
    const calling = pair.client.callTool("echo", {}, new SampleContext());
    await assert.rejects(calling, (error) => {
      assert.ok(error instanceof CannotAsk);
      assert.equal(error.question.method, "sampling/createMessage");
      return true;
    });
  });

  it("rejects at once when the server dies", async () => {
    await using pair = await ClientPair.connect({ ...LEGACY, "tools/call": () => SILENCE });
    const calling = pair.client.callTool("echo", {}, new SampleContext());
    await pair.server.until((server) => server.asked("tools/call").length === 1);
    pair.server.die();
    await assert.rejects(calling, { code: "closed" });
    await pair.client.ended;
  });
});
