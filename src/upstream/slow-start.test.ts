import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { until } from "../../test/support/until.ts";
import type { Notice } from "../tool/notices.ts";
import { MISSING_META } from "../tool/offer/tool-sources.ts";
import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { RawClient, type Json } from "../../test/upstream/raw-client.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import {
  ECHO,
  LEGACY,
  Refusal,
  type Script,
  Scripts,
} from "../../test/upstream/scripted-server.ts";

const QUICK = { firstWait: 60_000, longestWait: 60_000, firstList: 50, gather: 5 };
const named = (name: string): Script => ({
  ...LEGACY,
  "tools/list": () => ({ tools: [{ ...ECHO, name }] }),
});

/** Servers that are reached when a test says so; "quick" is there at once. */
function slowly(scripts: Record<string, Script>, limits: object = {}) {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const opened = new Scripts({ ...scripts, quick: named("quick") });
  const gateOf = (name: string): PromiseWithResolvers<void> => {
    const gate = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, gate);
    return gate;
  };
  const app = new AppWithUpstreams({
    limits: { ...QUICK, ...limits },
    open: async (settings, ...rest) => {
      const name = "command" in settings ? settings.command : "";
      if (name !== "quick") await gateOf(name).promise;
      return opened.open(settings, ...rest);
    },
  });
  const names = ["quick", ...Object.keys(scripts)];
  const configure = async (): Promise<void> => {
    // On a busy machine, a list might not wait long enough for the quick one either.
    await app.upstreams.configure({ quick: { command: "quick" } });
    await app.upstreams.started();
    const all = names.map((name) => [name, { command: name }] as const);
    await app.upstreams.configure(Object.fromEntries(all));
  };
  const configured = configure();
  app.offer.waitFor(app.upstreams);
  return {
    app,
    configured,
    letIn: (name: string) => gateOf(name).resolve(),
    fail: (name: string, why: string) => gateOf(name).reject(new Error(why)),
    [Symbol.asyncDispose]: async () => {
      for (const name of names) gateOf(name).resolve();
      await app[Symbol.asyncDispose]();
    },
  };
}

describe("A list while a server is starting", { timeout: 600_000 }, () => {
  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    it(`names the missing server, and announces a change when that is ready (${revision})`, async () => {
      await using servers = slowly({ slow: named("slow") });
      await servers.configured;
      const client = await RawClient.connect(servers.app.door, { revision });
      await using _ = client;
      if (client.isModern) {
        client.send("subscriptions/listen", { notifications: { toolsListChanged: true } });
      }
      const { result: first } = await client.request("tools/list");
      assert.deepEqual(namesOf(first), ["quick"]);
      const [why] = first._meta[MISSING_META] as string[];
      assert.match(why ?? "", /^MCP server 'slow' is still starting, after \d+ s$/);
      if (!client.isModern) {
        // Nobody has asked for messages: this one is news.
        const isIt = ({ params }: Json): boolean => String(params.data.server) === "slow";
        await client.until((each) => each.told("notifications/message").some(isIt));
      }
      const changes = client.told("notifications/tools/list_changed").length;
      servers.letIn("slow");
      await client.until((each) => {
        return each.told("notifications/tools/list_changed").length > changes;
      });
      const { result: second } = await client.request("tools/list");
      assert.deepEqual(namesOf(second).toSorted(), ["quick", "slow"]);
      assert.equal(second._meta?.[MISSING_META], undefined);
    });
  }

  it("notifies people once of a missing server, and again if it has failed", async () => {
    await using servers = slowly({ slow: named("slow") });
    await servers.configured;
    const { app } = servers;
    const notices: Notice[] = [];
    app.offer.notices.on((notice) => notices.push(notice));
    await app.offer.known();
    await app.offer.known();
    assert.deepEqual(
      notices.map(({ message }) => message?.replaceAll(/\d+/g, "N")),
      [
        "MCP server 'slow' is still starting, after N s. Its tools are not in the list yet. " +
          "Clients are notified when they are.",
      ],
    );
    servers.fail("slow", "the registry is down");
    while (app.offer.arrival() !== undefined) await app.offer.arrival();
    await app.offer.known();
    assert.equal(notices.length, 2);
    assert.match(notices[1]?.message ?? "", /'slow' could not be started\. the registry is down/);
    assert.equal(app.log.filter((line) => line.includes("upstream.missing")).length, 2);
  });
});

describe("A call of a tool that nobody has listed", { timeout: 600_000 }, () => {
  it("waits for the servers that may have it, with progress, and is then made", async () => {
    await using servers = slowly({ slow: named("slow"), slower: named("slower") });
    await servers.configured;
    const context = new SampleContext();
    const calling = servers.app.offer.tools.call("slow", { text: "at last" }, context);
    await until(() => context.progressed.length > 0);
    const [progress, , message] = context.progressed[0] ?? [];
    assert.ok(Number(progress) < 0.001);
    assert.match(String(message), /'slow' is still starting.*'slower' is still starting/);
    // Not the other one, which may take as long as it likes.
    servers.letIn("slow");
    const result = await calling;
    assert.equal(result.content[0]?.text, "at last");
  });

  it("is unknown if no server has it, and names the servers that did not answer", async () => {
    await using servers = slowly({ slow: named("slow"), bad: named("bad") });
    await servers.configured;
    const { tools } = servers.app.offer;
    const calling = (async () => tools.call("nobodys", {}, new SampleContext()))();
    servers.letIn("slow");
    servers.fail("bad", "no such package");
    await assert.rejects(calling, {
      code: "not-found",
      message: "Unknown tool: nobodys. MCP server 'bad' could not be started. no such package",
    });
    // Whoever failed is not waited for a second time.
    await assert.rejects(() => tools.call("nobodys", {}, new SampleContext()), {
      code: "not-found",
    });
  });

  it("ends when its caller cancels", async () => {
    await using servers = slowly({ slow: named("slow") });
    await servers.configured;
    const context = new SampleContext();
    const calling = servers.app.offer.tools.call("slow", {}, context);
    context.abort.abort(new Error("enough"));
    const result = await calling;
    assert.equal(result.isError, true);
    assert.match(String(result.content[0]?.text), /'slow' was cancelled/);
  });
});

describe("A server that cannot list its tools at first", { timeout: 600_000 }, () => {
  it("is asked again, and its problem is reported meanwhile", async () => {
    let isLocked = true;
    const script: Script = {
      ...LEGACY,
      "tools/list": () => {
        if (isLocked) throw new Refusal(-32603, "the database is locked");
        return { tools: [ECHO] };
      },
    };
    await using servers = slowly({ slow: script });
    await servers.configured;
    servers.letIn("slow");
    const { app } = servers;
    const changed = Promise.withResolvers<void>();
    app.offer.tools.onChange(() => {
      if (app.toolNames.includes("echo")) changed.resolve();
    });
    const why = /could not say which tools it has: the database is locked/;
    await until(async () => {
      await app.offer.known();
      return why.test(app.offer.missing()[0]?.why ?? "");
    });
    isLocked = false;
    await changed.promise;
    assert.deepEqual(app.offer.missing(), []);
  });
});

function namesOf({ tools }: Json): string[] {
  return (tools as Json[]).map(({ name }) => String(name));
}
