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
  ScriptedServer,
  SILENCE,
} from "../../../../test/upstream/scripted-server.ts";
import { McpClient } from "./connect.ts";

const M = "io.modelcontextprotocol/";

describe("McpClient.connect()", () => {
  it("needs one exchange with a server of 2026-07-28", async () => {
    await using pair = await ClientPair.connect(MODERN);
    assert.equal(pair.client.revision, "2026-07-28");
    assert.equal(pair.client.info.name, "scripted");
    const [discover] = pair.server.heard;
    assert.equal(discover?.["method"], "server/discover");
    assert.equal(discover?.["params"]._meta[`${M}protocolVersion`], "2026-07-28");
    assert.deepEqual(discover?.["params"]._meta[`${M}clientCapabilities`], {});
    assert.equal(pair.server.asked("initialize").length, 0);
  });

  it("falls back to initialize when the server does not know discover", async () => {
    await using pair = await ClientPair.connect(LEGACY);
    assert.equal(pair.client.revision, "2025-11-25");
    const [initialize] = pair.server.asked("initialize");
    assert.equal(initialize?.["params"].protocolVersion, "2025-11-25");
    assert.deepEqual(initialize?.["params"].capabilities.sampling, {});
    await pair.server.until((server) => server.asked("notifications/initialized").length === 1);
  });

  it("falls back to initialize when discover is met with silence", async () => {
    const script = { ...LEGACY, "server/discover": () => SILENCE };
    await using pair = await ClientPair.connect(script, { probe: 5 });
    assert.equal(pair.client.revision, "2025-11-25");
  });

  it("takes a late answer to discover from a server that refuses initialize", async () => {
    const refused = Promise.withResolvers<void>();
    const script: Script = {
      ...MODERN,
      "server/discover": async (params, server) => {
        await refused.promise;
        return MODERN["server/discover"]?.(params, server);
      },
      initialize: () => {
        refused.resolve();
        throw new Refusal(-32601, "Method not found");
      },
    };
    await using pair = await ClientPair.connect(script, { probe: 5 });
    assert.equal(pair.client.revision, "2026-07-28");
  });

  it("falls back when the server answers discover with older revisions only", async () => {
    const script = { ...LEGACY, "server/discover": () => ({ supportedVersions: ["2025-11-25"] }) };
    await using pair = await ClientPair.connect(script);
    assert.equal(pair.client.revision, "2025-11-25");
  });

  it("asks again when its revision is refused and named in one breath", async () => {
    let asked = 0;
    const script: Script = {
      ...MODERN,
      "server/discover": (params, server) => {
        if (++asked > 1) return MODERN["server/discover"]?.(params, server);
        throw new Refusal(-32022, "Unsupported", { supported: ["2026-07-28"] });
      },
    };
    await using pair = await ClientPair.connect(script);
    assert.equal(pair.client.revision, "2026-07-28");
    assert.equal(asked, 2);
  });

  it("does one handshake only when told which", async () => {
    await using pair = await ClientPair.connect(LEGACY, { era: "legacy" });
    assert.deepEqual(pair.server.heard.map(({ method }) => method as string).slice(0, 1), [
      "initialize",
    ]);
    await assert.rejects(ClientPair.connect(LEGACY, { era: "modern" }), /Method not found/);
  });

  it("gives up when nobody may speak to the server", async () => {
    const script = {
      ...LEGACY,
      "server/discover": () => {
        throw new Refusal(-32000, "answered 401", { status: 401 });
      },
    };
    await assert.rejects(ClientPair.connect(script), /answered 401/);
  });

  it("gives up on a revision that nobody knows", async () => {
    const script = { ...LEGACY, initialize: () => ({ protocolVersion: "1999-01-01" }) };
    await assert.rejects(
      ClientPair.connect(script),
      /speaks revision "1999-01-01"; known here: 2026/,
    );
  });

  it("gives up after its time, and closes the channel", async () => {
    const server = new ScriptedServer({
      "server/discover": () => SILENCE,
      initialize: () => SILENCE,
    });
    const connecting = McpClient.connect(server.channel, { timeout: 20, probe: 5 });
    await assert.rejects(connecting, /No answer to the handshake within 20 ms/);
    await server.left;
  });
});

describe("McpClient lists", () => {
  it("all pages, and stops when a cursor comes again", async () => {
    let asked = 0;
    const script: Script = {
      ...LEGACY,
      "tools/list": ({ cursor }) => {
        asked++;
        return {
          tools: [{ name: `t-${cursor ?? 0}` }, "nonsense"],
          nextCursor: asked > 2 ? "2" : `${asked}`,
        };
      },
    };
    await using pair = await ClientPair.connect(script);
    const tools = await pair.client.listTools();
    assert.deepEqual(tools, [{ name: "t-0" }, { name: "t-1" }, { name: "t-2" }]);
  });

  it("nothing that the server does not declare", async () => {
    await using pair = await ClientPair.connect(LEGACY);
    assert.deepEqual(await pair.client.listResources(), []);
    assert.equal(pair.server.asked("resources/list").length, 0);
  });

  it("only tools that the transport can call", async () => {
    const canCall = ({ name }: { name?: unknown }): boolean => name !== "echo";
    await using modern = await ClientPair.connect(MODERN, { canCall });
    assert.deepEqual(await modern.client.listTools(), []);
    await using legacy = await ClientPair.connect(LEGACY, { canCall });
    assert.equal((await legacy.client.listTools()).length, 1);
  });

  it("fails when the answer is no list", async () => {
    await using pair = await ClientPair.connect({
      ...LEGACY,
      "tools/list": () => ({ tools: "none" }),
    });
    await assert.rejects(pair.client.listTools(), /the server's list has no array 'tools'/);
  });
});

describe("McpClient.callTool()", () => {
  it("passes on what came beside the arguments, but not what belongs to a connection", async () => {
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

  it("gives a result of one shape, with members that nobody here knows", async () => {
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

  it("tells each call of its own progress", async () => {
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

  it("tells the server when the caller gives up", async () => {
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

  it("says that the caller cannot be asked when that is what the server lacks", async () => {
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

describe("McpClient.watch()", () => {
  const capabilities = { resources: { subscribe: true, listChanged: true } };

  it("subscribes at a server of 2025-11-25, and passes its news on", async () => {
    const updated: string[] = [];
    const script: Script = {
      ...LEGACY,
      initialize: () => ({ protocolVersion: "2025-06-18", capabilities }),
      "resources/subscribe": ({ uri }, server) => {
        server.notify("notifications/resources/updated", { uri });
        return {};
      },
    };
    const events = { resourceUpdated: (uri: string) => updated.push(uri) };
    await using pair = await ClientPair.connect(script, { events });
    await pair.client.watch("x://1");
    assert.deepEqual(updated, ["x://1"]);
  });

  it("listens anew at a server of 2026-07-28, and lets go of the old only then", async () => {
    const script: Script = {
      ...MODERN,
      "server/discover": () => ({ supportedVersions: ["2026-07-28"], capabilities }),
    };
    await using pair = await ClientPair.connect(script);
    await pair.server.until((server) => server.asked("subscriptions/listen").length === 1);
    await pair.client.watch("x://1");
    await pair.server.until((server) => server.asked("notifications/cancelled").length === 1);
    const [first, second] = pair.server.asked("subscriptions/listen");
    assert.deepEqual(first?.["params"].notifications, { resourcesListChanged: true });
    assert.deepEqual(second?.["params"].notifications, {
      resourcesListChanged: true,
      resourceSubscriptions: ["x://1"],
    });
    const [cancelled] = pair.server.asked("notifications/cancelled");
    assert.equal(cancelled?.["params"].requestId, first?.["id"]);
    assert.ok(pair.server.heard.indexOf(cancelled ?? {}) > pair.server.heard.indexOf(second ?? {}));
  });
});
