import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { until } from "../../test/support/until.ts";
import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { ECHO, LEGACY, type Script, Scripts } from "../../test/upstream/scripted-server.ts";
import { Profile } from "../tool/profile/profile.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };

/** A server that does nobody any harm. */
const CALM: Script = { ...LEGACY, "tools/list": () => ({ tools: [{ ...ECHO, name: "calm" }] }) };

async function appOf(script: Script): Promise<[AppWithUpstreams, Scripts]> {
  const scripts = new Scripts({ hostile: script, calm: CALM });
  const app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
  await app.configure({ hostile: { command: "hostile" }, calm: { command: "calm" } });
  return [app, scripts];
}

describe("A hostile upstream", () => {
  it("cannot delay everybody with templates that take for ever", async () => {
    const uriTemplate = `x://${"{+a}a".repeat(300)}!`;
    const [opened] = await appOf({
      ...LEGACY,
      initialize: () => ({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, resources: {} },
      }),
      "resources/list": () => ({ resources: [] }),
      "resources/templates/list": () => ({
        resourceTemplates: Array.from({ length: 100 }, (_, each) => ({
          uriTemplate: `${uriTemplate}${each}`,
        })),
      }),
      "resources/read": ({ uri }) => ({ contents: [{ uri, text: "read" }] }),
    });
    await using app = opened;
    await app.offer.resources.templates();
    const before = process.cpuUsage();
    await app.offer.resources.read(`x://${"a".repeat(5_000)}`, new SampleContext());
    // Microseconds of this process's own work: a busy machine makes no difference.
    assert.ok(process.cpuUsage(before).user < 5_000_000);
  });

  it("cannot delay the answers of another that names many resources", async () => {
    const uriTemplate = `x://${"{+a}a".repeat(300)}!`;
    const links = Array.from({ length: 1_000 }, (_, each) => ({
      type: "resource_link",
      name: "link",
      uri: `x://${"a".repeat(200)}/${each}`,
    }));
    const scripts = new Scripts({
      hostile: {
        ...LEGACY,
        initialize: () => ({
          protocolVersion: "2025-11-25",
          capabilities: { tools: {}, resources: {} },
        }),
        "resources/list": () => ({ resources: [] }),
        "resources/templates/list": () => ({
          resourceTemplates: Array.from({ length: 100 }, (_, each) => ({
            uriTemplate: `${uriTemplate}${each}`,
          })),
        }),
      },
      calm: { ...CALM, "tools/call": () => ({ content: links }) },
    });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ hostile: { command: "hostile" }, calm: { command: "calm" } });
    await app.offer.resources.templates();
    const before = process.cpuUsage();
    const { content } = await app.offer.tools.call("calm", {}, new SampleContext());
    assert.deepEqual(content, links);
    // Microseconds of this process's own work: a busy machine makes no difference.
    assert.ok(process.cpuUsage(before).user < 5_000_000);
  });

  it("cannot delay everybody with a long list, of which a profile shows a part", async () => {
    const all = Array.from({ length: 10_000 }, (_, each) => ({
      uri: `x://${"a".repeat(200)}/${each}`,
      name: "one",
    }));
    const [opened] = await appOf({
      ...LEGACY,
      initialize: () => ({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, resources: {} },
      }),
      "resources/list": ({ cursor = 0 }: { cursor?: unknown }) => {
        const next = Number(cursor) + 2_000;
        const page = { resources: all.slice(Number(cursor), next) };
        return next < all.length ? { ...page, nextCursor: String(next) } : page;
      },
      "resources/templates/list": () => ({ resourceTemplates: [] }),
    });
    await using app = opened;
    const profile = new Profile("some", { resources: { deny: ["x://*/1*"] } });
    await until(async () => (await app.offer.resources.list()).length >= all.length);
    const before = process.cpuUsage();
    const shown = await app.offer.resources.list(undefined, profile);
    assert.equal(shown.length, 8_889);
    // Microseconds of this process's own work: a busy machine makes no difference.
    assert.ok(process.cpuUsage(before).user < 2_000_000);
  });

  it("cannot answer for the resources of another", async () => {
    const resources: Script = {
      ...CALM,
      initialize: () => ({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, resources: { subscribe: true } },
      }),
      "resources/list": () => ({ resources: [{ uri: "calm://1", name: "one" }] }),
      "resources/templates/list": () => ({ resourceTemplates: [] }),
      "resources/subscribe": () => ({}),
    };
    const scripts = new Scripts({ hostile: LEGACY, calm: resources });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ hostile: { command: "hostile" }, calm: { command: "calm" } });
    let updates = 0;
    app.offer.resources.watch("calm://1", () => updates++);
    const [hostile, calm] = [await scripts.start("hostile"), await scripts.start("calm")];
    await calm.until((server) => server.asked("resources/subscribe").length === 1);
    hostile.notify("notifications/resources/updated", { uri: "calm://1" });
    await hostile.request("ping");
    assert.equal(updates, 0);
    calm.notify("notifications/resources/updated", { uri: "calm://1" });
    await calm.request("ping");
    assert.equal(updates, 1);
  });
});

describe("UpstreamResources", () => {
  it("subscribe to what a server lists only later", async () => {
    const listed: object[] = [];
    const scripts = new Scripts({
      a: {
        ...LEGACY,
        initialize: () => ({
          protocolVersion: "2025-11-25",
          capabilities: { tools: {}, resources: { subscribe: true, listChanged: true } },
        }),
        "resources/list": () => ({ resources: listed }),
        "resources/templates/list": () => ({ resourceTemplates: [] }),
        "resources/subscribe": () => ({}),
      },
    });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ a: { command: "a" } });
    const updated = Promise.withResolvers<void>();
    const stop = app.offer.resources.watch("x://1", updated.resolve);
    const server = await scripts.start("a");
    listed.push({ uri: "x://1", name: "one" });
    server.notify("notifications/resources/list_changed");
    await server.until((each) => each.asked("resources/subscribe").length === 1);
    server.notify("notifications/resources/updated", { uri: "x://1" });
    await updated.promise;
    stop();
  });
});
