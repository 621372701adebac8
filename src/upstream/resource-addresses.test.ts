import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { type Json, RawClient, type RawClientOptions } from "../../test/upstream/raw-client.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { LEGACY, Refusal, type Script, Scripts } from "../../test/upstream/scripted-server.ts";
import { until } from "../../test/support/until.ts";
import { Profiles } from "../tool/profile/profiles.ts";
import { Profile } from "../tool/profile/profile.ts";
import { ResourceAddresses } from "./resource-addresses.ts";

const PAGE = "ui://w/view.html";
const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };
const CLIENT: RawClientOptions = { revision: "2025-11-25" };

/** A server whose answers say that they are its own. */
function serverOf(name: string, more: Script = {}): Script {
  return {
    ...LEGACY,
    initialize: () => ({
      protocolVersion: "2025-11-25",
      capabilities: { tools: {}, prompts: {}, completions: {}, resources: { subscribe: true } },
    }),
    "tools/list": () => ({ tools: [] }),
    "prompts/list": () => ({ prompts: [] }),
    "resources/list": () => ({ resources: [] }),
    "resources/templates/list": () => ({ resourceTemplates: [] }),
    "resources/read": ({ uri }) => ({ contents: [{ uri, text: `${name} ${uri}` }] }),
    "resources/subscribe": () => ({}),
    "resources/unsubscribe": () => ({}),
    "completion/complete": ({ ref }) => ({ completion: { values: [name, ref.uri] } }),
    ...more,
  };
}

const tool = (name: string, _meta: object): object => ({
  name,
  description: name,
  inputSchema: { type: "object" },
  _meta,
});

async function appWith(scripts: Record<string, Script>): Promise<[AppWithUpstreams, Scripts]> {
  const opened = new Scripts(scripts);
  const app = new AppWithUpstreams({ open: opened.open, limits: QUICK });
  const table = Object.fromEntries(Object.keys(scripts).map((name) => [name, { command: name }]));
  await app.configure(table);
  await app.offer.resources.list();
  return [app, opened];
}

const textOf = async (app: AppWithUpstreams, uri: string): Promise<unknown> =>
  (await app.offer.resources.read(uri, new SampleContext()))?.contents[0]?.["text"];

describe("A resource", () => {
  it("that is in no list belongs to the server whose tool or answer names it", async () => {
    const [opened] = await appWith({
      // It lists another one of that scheme, and would answer for everything.
      a: serverOf("a", { "resources/list": () => ({ resources: [{ uri: "ui://a", name: "a" }] }) }),
      b: serverOf("b", {
        "tools/list": () => ({
          tools: [
            tool("new", { ui: { resourceUri: PAGE } }),
            tool("old", { "ui/resourceUri": "ui://old" }),
          ],
        }),
        "tools/call": () => ({ content: [{ type: "resource_link", name: "l", uri: "x://link" }] }),
      }),
    });
    await using app = opened;
    assert.equal(await textOf(app, PAGE), `b ${PAGE}`);
    assert.equal(await textOf(app, "ui://old"), "b ui://old");
    // Nobody has named it yet, and it is not guessed whose it is.
    assert.equal(await textOf(app, "x://link"), undefined);
    const { content } = await app.offer.tools.call("new", {}, new SampleContext());
    assert.equal(content[0]?.["uri"], "x://link");
    assert.equal(await textOf(app, "x://link"), "b x://link");
  });

  it("that nobody has named is asked of the only server that has any", async () => {
    const none: Script = { ...LEGACY, "tools/list": () => ({ tools: [] }) };
    const [opened] = await appWith({ none, a: serverOf("a") });
    await using app = opened;
    assert.equal(await textOf(app, "x://deep"), "a x://deep");
  });

  it("of two servers with one URI is each read under an address of its own", async () => {
    const lists: Script = {
      "resources/list": () => ({ resources: [{ uri: "x://same", name: "same", _meta: { k: 1 } }] }),
      "resources/templates/list": () => ({
        resourceTemplates: [{ uriTemplate: "x://t/{id}", name: "t" }],
      }),
    };
    const [opened, scripts] = await appWith({ a: serverOf("a", lists), b: serverOf("b", lists) });
    await using app = opened;
    await using client = await RawClient.connect(app.door, CLIENT);
    const { result: listed } = await client.request("resources/list");
    assert.deepEqual(listed.resources, [
      { uri: "x://same", name: "same", _meta: { k: 1 } },
      {
        uri: "x://b+same",
        name: "same",
        _meta: { k: 1, "trunkline/origin": { server: "b", uri: "x://same" } },
      },
    ]);
    const { result: templates } = await client.request("resources/templates/list");
    assert.deepEqual(
      templates.resourceTemplates.map(({ uriTemplate }: Json) => uriTemplate as string),
      ["x://t/{id}", "x://b+t/{id}"],
    );
    for (const [uri, text] of [
      ["x://same", "a x://same"],
      ["x://b+same", "b x://same"],
      ["x://t/1", "a x://t/1"],
      ["x://b+t/1", "b x://t/1"],
    ]) {
      const { result } = await client.request("resources/read", { uri });
      assert.deepEqual(result.contents, [{ uri, text }]);
    }
    const ref = { type: "ref/resource", uri: "x://b+t/{id}" };
    const argument = { name: "id", value: "" };
    const { result } = await client.request("completion/complete", { ref, argument });
    assert.deepEqual(result.completion.values, ["b", "x://t/{id}"]);
    await client.request("resources/subscribe", { uri: "x://b+same" });
    const [a, b] = [await scripts.start("a"), await scripts.start("b")];
    await b.until((server) => server.asked("resources/subscribe").length === 1);
    assert.equal(b.asked("resources/subscribe")[0]?.["params"].uri, "x://same");
    a.notify("notifications/resources/updated", { uri: "x://same" });
    b.notify("notifications/resources/updated", { uri: "x://same" });
    await client.until((each) => each.told("notifications/resources/updated").length > 0);
    await a.request("ping");
    assert.deepEqual(
      client.told("notifications/resources/updated").map(({ params }) => params as Json),
      [{ uri: "x://b+same" }],
    );
    assert.ok(app.log.some((line) => line.includes("upstream.address-changed")));
  });

  it("has its address in tools, results and prompts where it was changed", async () => {
    const _meta = {
      ui: { resourceUri: PAGE, visibility: ["model"] },
      "ui/resourceUri": PAGE,
      k: 1,
    };
    const link = { type: "resource_link", name: "l", uri: PAGE };
    const embedded = { type: "resource", resource: { uri: PAGE, text: "t" } };
    const script: Script = {
      "tools/list": () => ({ tools: [tool("show", _meta)] }),
      "tools/call": () => ({ content: [link, embedded], _meta: { ui: { resourceUri: PAGE } } }),
      "prompts/list": () => ({ prompts: [{ name: "ask" }] }),
      "prompts/get": () => ({ messages: [{ role: "user", content: link }] }),
    };
    const [opened] = await appWith({ a: serverOf("a", script), b: serverOf("b", script) });
    await using app = opened;
    const shown = "ui://b+w/view.html";
    const plain = app.offer.tools.get("show")?.definition;
    assert.deepEqual(plain?.["_meta"], _meta);
    const other = app.offer.tools.get("b_show");
    assert.deepEqual(other?.definition["_meta"], {
      ui: { resourceUri: shown, visibility: ["model"] },
      "ui/resourceUri": shown,
      k: 1,
    });
    // What a person approves is what the server says: other servers do not change it.
    assert.deepEqual(other?.source?.described?.["_meta"], _meta);
    assert.equal(await textOf(app, shown), `b ${PAGE}`);
    const result = await app.offer.tools.call("b_show", {}, new SampleContext());
    assert.deepEqual(result, {
      content: [
        { ...link, uri: shown },
        { type: "resource", resource: { uri: shown, text: "t" } },
      ],
      _meta: { ui: { resourceUri: shown } },
    });
    const unchanged = await app.offer.tools.call("show", {}, new SampleContext());
    assert.deepEqual(unchanged.content, [link, embedded]);
    const prompt = await app.offer.prompts.get("b_ask")?.get({}, new SampleContext());
    assert.deepEqual(prompt?.messages, [{ role: "user", content: { ...link, uri: shown } }]);
  });

  it("keeps its address after a restart, and when another server comes to have it", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    const lists = (): Json => ({ resources: [{ uri: "x://same", name: "same" }] });
    const listing = serverOf("a", { "resources/list": lists });
    const table = { a: { command: "a" }, b: { command: "b" } };
    const scripts = { a: listing, b: serverOf("b", { "resources/list": lists }) };
    {
      const only = new Scripts(scripts);
      await using app = new AppWithUpstreams({
        open: only.open,
        limits: QUICK,
        folder: folder.path,
      });
      await app.configure({ b: { command: "b" } });
      assert.equal(await textOf(app, "x://same"), "b x://same");
      await app.configure(table);
      await until(async () => (await app.offer.resources.list()).length === 2);
      assert.equal(await textOf(app, "x://same"), "b x://same");
      assert.equal(await textOf(app, "x://a+same"), "a x://same");
    }
    const again = new Scripts(scripts);
    await using app = new AppWithUpstreams({
      open: again.open,
      limits: QUICK,
      folder: folder.path,
    });
    await app.configure(table);
    // From what is remembered, in the order of the configuration.
    assert.equal(await textOf(app, "x://same"), "a x://same");
    assert.equal(await textOf(app, "x://b+same"), "b x://same");
  });

  it("is judged by a profile by its server's own URI, whatever address it has", async () => {
    const script: Script = {
      "resources/list": () => ({
        resources: [
          { uri: "x://open", name: "open" },
          { uri: "x://secret", name: "secret" },
        ],
      }),
    };
    const [opened] = await appWith({ a: serverOf("a", script), b: serverOf("b", script) });
    await using app = opened;
    const profile = new Profile("p", { resources: { deny: ["x://secret"] } });
    const listed = await app.offer.resources.list(undefined, profile);
    assert.deepEqual(
      listed.map(({ uri }) => uri),
      ["x://open", "x://b+open"],
    );
    app.offer.profiles = new Profiles({ p: { for: {}, resources: { deny: ["x://secret"] } } });
    await using client = await RawClient.connect(app.door, CLIENT);
    const { error } = await client.request("resources/read", { uri: "x://b+secret" });
    assert.equal(error.code, -32002);
    const { result } = await client.request("resources/read", { uri: "x://b+open" });
    assert.equal(result.contents[0].text, "b x://open");
  });

  it("that its server does not have is reported under the address that was asked for", async () => {
    const gone: Script = {
      "resources/list": () => ({ resources: [{ uri: "x://same", name: "same" }] }),
      "resources/read": ({ uri }) => {
        throw new Refusal(-32002, "Resource not found", { uri });
      },
    };
    const [opened] = await appWith({ a: serverOf("a", gone), b: serverOf("b", gone) });
    await using app = opened;
    await using client = await RawClient.connect(app.door, CLIENT);
    const uri = "x://b+same";
    const { error } = await client.request("resources/read", { uri });
    assert.deepEqual([error.code, error.data], [-32002, { uri }]);
  });
});

describe("ResourceAddresses", () => {
  const never = (): undefined => undefined;

  it("leave addresses of the web alone, which clients fetch themselves", () => {
    const addresses = new ResourceAddresses(never, never);
    assert.equal(addresses.shown("a", "https://example.com/1"), "https://example.com/1");
    assert.equal(addresses.shown("b", "https://example.com/1"), "https://example.com/1");
    assert.equal(addresses.originOf("https://example.com/1")?.server, "a");
  });

  it("give no server the address of another, whatever it names", () => {
    const addresses = new ResourceAddresses(never, never);
    assert.equal(addresses.shown("a", "x://1"), "x://1");
    // It names what the other's would become.
    assert.equal(addresses.shown("a", "x://b+1"), "x://b+1");
    const shown = addresses.shown("b", "x://1");
    assert.notEqual(shown, "x://b+1");
    assert.deepEqual(addresses.originOf(shown), { server: "b", uri: "x://1" });
    assert.equal(addresses.shown("b", "x://1"), shown);
  });

  it("give no server by an answer what another has by a template", () => {
    const addresses = new ResourceAddresses((uri) => (uri === "x://t/1" ? "a" : undefined), never);
    assert.equal(addresses.shown("b", "x://t/1"), "x://b+t/1");
    assert.equal(addresses.originOf("x://t/1"), undefined);
  });

  it("forget the oldest of what only answers named, and nothing that is listed", () => {
    const addresses = new ResourceAddresses(never, never);
    const catalogue = { tools: [], prompts: [], templates: [], resources: [{ uri: "x://listed" }] };
    addresses.shown("a", "x://first");
    for (let count = 0; count < 1_000; count++) addresses.shown("a", `x://${count}`);
    assert.equal(addresses.originOf("x://first"), undefined);
    assert.equal(addresses.originOf("x://999")?.server, "a");
    addresses.shown("a", "x://listed");
    addresses.update([{ name: "a", catalogue }]);
    for (let count = 0; count < 2_000; count++) addresses.shown("a", `y://${count}`);
    assert.equal(addresses.originOf("x://listed")?.server, "a");
  });
});
