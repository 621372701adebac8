import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { type Json, RawClient } from "../../test/upstream/raw-client.ts";
import { LEGACY, type Script, Scripts, SILENCE } from "../../test/upstream/scripted-server.ts";

const MESSAGE = "notifications/message";

/** What a client was told under a name, without the envelope. */
function told(client: RawClient, method: string): Json[] {
  return client.told(method).map(({ params }) => params as Json);
}

describe("Upstreams forward messages of a server outside of calls", () => {
  it("to clients that asked for them, under the server's name", async () => {
    const scripts = new Scripts({ a: LEGACY });
    await using app = await new AppWithUpstreams(scripts).configure({ "my a": { command: "a" } });
    await using wants = await RawClient.connect(app.door, { revision: "2025-11-25" });
    await using picky = await RawClient.connect(app.door, { revision: "2024-11-05" });
    await using silent = await RawClient.connect(app.door, { revision: "2025-11-25" });
    await using modern = await RawClient.connect(app.door, { revision: "2026-07-28" });
    modern.send("subscriptions/listen", { notifications: { toolsListChanged: true } });
    await wants.request("logging/setLevel", { level: "error" });
    await wants.request("logging/setLevel", { level: "info" });
    await picky.request("logging/setLevel", { level: "error" });
    const [server] = scripts.of("a");
    server?.notify(MESSAGE, { level: "debug", data: "fine print" });
    server?.notify(MESSAGE, { level: "notice", data: { code: 1 }, logger: "db" });
    server?.notify(MESSAGE, { level: "critical", data: "fire" });
    await picky.until((client) => client.told(MESSAGE).length === 1);
    assert.deepEqual(told(wants, MESSAGE), [
      { level: "notice", logger: "my a/db", data: { code: 1 } },
      { level: "critical", logger: "my a", data: "fire" },
    ]);
    assert.deepEqual(told(picky, MESSAGE), [{ level: "critical", logger: "my a", data: "fire" }]);
    await modern.request("tools/list");
    assert.deepEqual([...told(silent, MESSAGE), ...told(modern, MESSAGE)], []);
  });

  it("but not to a client that has disconnected, nor messages of another's call", async () => {
    const scripts = new Scripts({ a: { ...LEGACY, "tools/call": () => SILENCE } });
    await using app = await new AppWithUpstreams(scripts).configure({ a: { command: "a" } });
    await using caller = await RawClient.connect(app.door, { revision: "2025-11-25" });
    await using other = await RawClient.connect(app.door, { revision: "2025-11-25" });
    {
      await using gone = await RawClient.connect(app.door, { revision: "2025-11-25" });
      await gone.request("logging/setLevel", { level: "debug" });
    }
    await other.request("logging/setLevel", { level: "debug" });
    caller.send("tools/call", { name: "echo" });
    const [server] = scripts.of("a");
    await server?.until((each) => each.asked("tools/call").length === 1);
    server?.notify(MESSAGE, { level: "info", data: "for the caller", logger: "db" });
    await caller.until((client) => client.told(MESSAGE).length === 1);
    await other.request("ping");
    assert.deepEqual(told(caller, MESSAGE), [
      { level: "info", logger: "a/db", data: "for the caller" },
    ]);
    assert.deepEqual(told(other, MESSAGE), []);
  });

  it("with a limit, and say so", async (t) => {
    const scripts = new Scripts({ a: LEGACY });
    await using app = await new AppWithUpstreams(scripts).configure({ a: { command: "a" } });
    await using client = await RawClient.connect(app.door, { revision: "2025-11-25" });
    await client.request("logging/setLevel", { level: "debug" });
    const [server] = scripts.of("a");
    const start = performance.now();
    const clock = t.mock.method(performance, "now", () => start);
    const flood = async (seconds: number): Promise<number> => {
      clock.mock.mockImplementation(() => start + seconds * 1_000);
      for (let time = 0; time < 2_000; time++) {
        server?.notify(MESSAGE, { level: "info", data: time });
      }
      server?.notify(MESSAGE, { level: "info", data: "x".repeat(100_000) });
      await server?.request("ping");
      await client.request("ping");
      return client.told(MESSAGE).length;
    };
    assert.deepEqual([await flood(0), await flood(2), await flood(4)], [100, 100, 100]);
    assert.equal(await flood(12), 201);
    assert.match(told(client, MESSAGE)[100]?.["data"] as string, /some messages were left out/);
    assert.match(app.log.join(""), /upstream\.faults/);
  });
});

describe("Upstreams report that a page is complete", () => {
  const asking: Script = {
    ...LEGACY,
    "tools/call": async (_, server) => {
      const params = { mode: "url", url: "https://example.test/", message: "Look" };
      await server.request("elicitation/create", { ...params, elicitationId: "e1" });
      return { content: [] };
    },
  };

  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    it(`to the client of ${revision} that showed it, if the revision supports that`, async () => {
      const scripts = new Scripts({ a: asking });
      await using app = await new AppWithUpstreams(scripts).configure({ a: { command: "a" } });
      const options = {
        revision,
        capabilities: { elicitation: { url: {} } },
        answers: { "elicitation/create": () => ({ action: "accept" }) },
      };
      await using client = await RawClient.connect(app.door, options);
      await using other = await RawClient.connect(app.door, options);
      assert.deepEqual((await client.callTool("echo"))["result"].content, []);
      const done = "notifications/elicitation/complete";
      const [server] = scripts.of("a");
      for (let time = 0; time < 2; time++) server?.notify(done, { elicitationId: "e1" });
      await server?.request("ping");
      for (const each of [client, other]) await each.request("tools/list");
      const expected = revision === "2025-11-25" ? [{ elicitationId: "e1" }] : [];
      assert.deepEqual(told(client, done), expected);
      assert.deepEqual(told(other, done), []);
    });
  }
});
