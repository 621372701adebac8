import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { type Json, RawClient, type RawClientOptions } from "../../test/upstream/raw-client.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { LEGACY, MODERN, type Script, Scripts } from "../../test/upstream/scripted-server.ts";
import { Approvals } from "../store/approval/approvals.ts";
import { Offer } from "../tool/offer/offer.ts";
import { Profile } from "../tool/profile/profile.ts";
import { APPS_EXTENSION as UI, SKILLS_EXTENSION as SKILLS } from "../tool/tool.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const APP_HOST = { extensions: { [UI]: { mimeTypes: ["text/html;profile=mcp-app", "x/y"] } } };

const tool = (name: string, visibility?: readonly string[]): Json => ({
  name,
  description: `It can ${name}`,
  inputSchema: { type: "object" },
  ...(visibility === undefined ? {} : { _meta: { ui: { resourceUri: "ui://w", visibility } } }),
});

const TOOLS = [tool("both", ["model", "app"]), tool("plain"), tool("refresh", ["app"])];

const announcing = (extensions: Json, more: Script = {}): Script => ({
  ...MODERN,
  "server/discover": () => ({
    resultType: "complete",
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {}, resources: {}, extensions },
  }),
  "tools/list": () => ({ resultType: "complete", tools: TOOLS }),
  "resources/list": () => ({ resultType: "complete", resources: [] }),
  "resources/templates/list": () => ({ resultType: "complete", resourceTemplates: [] }),
  ...more,
});

async function appOf(
  scripts: Record<string, Script>,
  options: { readonly offer?: Offer; readonly folder?: string } = {},
): Promise<[AppWithUpstreams, Scripts]> {
  const opened = new Scripts(scripts);
  const app = new AppWithUpstreams({ open: opened.open, limits: QUICK, ...options });
  const table = Object.fromEntries(Object.keys(scripts).map((name) => [name, { command: name }]));
  await app.configure(table);
  await app.offer.resources.list();
  return [app, opened];
}

async function capabilitiesFor(app: AppWithUpstreams, revision: RawClientOptions["revision"]) {
  await using client = await RawClient.connect(app.door, { revision });
  if (client.isModern) return (await client.request("server/discover"))["result"].capabilities;
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: "c" } };
  return (await client.request("initialize", params))["result"].capabilities;
}

describe("Extensions", () => {
  it("of servers are announced to clients, as far as they are passed on", async () => {
    const [opened] = await appOf({
      a: announcing({ [UI]: {}, "com.example/unknown": {} }),
      b: announcing({ [SKILLS]: { directoryRead: true } }),
    });
    await using app = opened;
    for (const revision of ["2025-11-25", "2026-07-28"] as const) {
      const { extensions } = await capabilitiesFor(app, revision);
      assert.deepEqual(extensions[UI], {});
      assert.deepEqual(extensions[SKILLS], { directoryRead: true });
      assert.equal(extensions["com.example/unknown"], undefined);
      assert.equal(
        app.offer.resources.extensions(new Profile("p", { servers: { deny: ["b"] } }))[SKILLS],
        undefined,
      );
    }
  });

  it("that no server has are announced to no client, and their methods do not exist", async () => {
    const [opened] = await appOf({ a: LEGACY });
    await using app = opened;
    assert.equal((await capabilitiesFor(app, "2025-11-25")).extensions, undefined);
    await using client = await RawClient.connect(app.door, { revision: "2025-11-25" });
    for (const method of ["skills/list", "skills/get", "resources/directory/read"]) {
      const { error } = await client.request(method, { uri: "skill://a/SKILL.md" });
      assert.equal(error.code, -32601, method);
    }
  });

  it("that are passed on are announced to servers, and for each call those of its caller", async () => {
    const [opened, scripts] = await appOf({ modern: announcing({ [UI]: {} }), legacy: LEGACY });
    await using app = opened;
    const [modern, legacy] = [await scripts.start("modern"), await scripts.start("legacy")];
    const initialized = legacy.asked("initialize")[0]?.["params"].capabilities.extensions as Json;
    assert.deepEqual(Object.keys(initialized).toSorted(), [SKILLS, UI]);
    const listed = modern.asked("tools/list")[0]?.["params"]._meta[CAPABILITIES] as Json;
    assert.deepEqual(Object.keys(listed["extensions"]).toSorted(), [SKILLS, UI]);
    for (const capabilities of [APP_HOST, { extensions: { "com.example/unknown": {} } }, {}]) {
      await using client = await RawClient.connect(app.door, {
        revision: "2025-11-25",
        capabilities,
      });
      await client.callTool("plain");
      const { _meta } = (modern.asked("tools/call").at(-1)?.["params"] ?? {}) as Json;
      const { "io.modelcontextprotocol/tasks": ours, ...theirs } = _meta[CAPABILITIES].extensions;
      assert.deepEqual(ours, {});
      assert.deepEqual(theirs, capabilities === APP_HOST ? APP_HOST.extensions : {});
    }
  });
});

describe("A tool that is for apps only", () => {
  const namesFor = async (app: AppWithUpstreams, capabilities: Json): Promise<string[]> => {
    await using client = await RawClient.connect(app.door, {
      revision: "2025-11-25",
      capabilities,
    });
    const { result } = await client.request("tools/list");
    return result.tools.map(({ name }: Json) => name as string);
  };

  it("is listed to clients that show apps, and to no model", async () => {
    const [opened] = await appOf({ a: announcing({ [UI]: {} }) });
    await using app = opened;
    assert.deepEqual(await namesFor(app, APP_HOST), ["both", "plain", "refresh"]);
    assert.deepEqual(await namesFor(app, {}), ["both", "plain"]);
    // As the built-in agent gets them.
    const { caller } = new SampleContext();
    const visible = app.offer.tools.visibleTo({ caller }).map(({ definition }) => definition.name);
    assert.deepEqual(visible, ["both", "plain"]);
  });

  it("is found by no search, and called through none", async () => {
    const [opened, scripts] = await appOf({ a: announcing({ [UI]: {} }) });
    await using app = opened;
    const profile = new Profile("p", { search: true });
    const context = Object.assign(new SampleContext(), {
      profile,
      extensions: APP_HOST.extensions,
    });
    const names = app.offer.tools.listFor(context).map(({ definition }) => definition.name);
    assert.deepEqual(names, ["search_tools", "call_tool"]);
    const found = await app.offer.tools.call("search_tools", { query: "refresh both" }, context);
    assert.match(JSON.stringify(found), /It can both/);
    assert.doesNotMatch(JSON.stringify(found), /It can refresh/);
    const called = await app.offer.tools.call("call_tool", { name: "refresh" }, context);
    assert.equal(called.isError, true);
    assert.match(String(called.content[0]?.text), /for apps of its server/);
    const [server] = scripts.of("a");
    assert.deepEqual(server?.asked("tools/call"), []);
    // The page of the server calls it by its name.
    assert.notEqual((await app.offer.tools.call("refresh", {}, context)).isError, true);
  });
});

describe("A tool whose page or visibility has changed", () => {
  it("is held until a person has looked, but not for a member that nobody goes by", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    await using approvals = await Approvals.open(folder.path);
    const held = async (_meta: Json): Promise<boolean> => {
      const script = announcing({}, { "tools/list": () => ({ tools: [{ ...tool("t"), _meta }] }) });
      const [app] = await appOf({ a: script }, { offer: new Offer({ approver: approvals }) });
      await using _ = app;
      return app.offer.tools.held().length > 0;
    };
    const ui = { resourceUri: "ui://w", visibility: ["app"] };
    assert.equal(await held({ ui }), false);
    assert.equal(await held({ ui, other: 1, "ui/resourceUri": "ui://w" }), false);
    assert.equal(await held({ ui: { ...ui, visibility: ["app", "model"] } }), true);
    assert.equal(await held({ ui: { ...ui, resourceUri: "ui://v" } }), true);
    assert.equal(await held({}), true);
    assert.equal(await held({ ui }), false);
  });
});

const SKILL = "skill://tax/SKILL.md";
const skillOf = (name: string, digest = "1"): Json => ({
  uri: SKILL,
  frontmatter: { name, description: `How ${name} does it` },
  resources: [{ uri: "skill://tax/form.md", digest: `sha256:${digest.repeat(64)}`, size: 1 }],
});

describe("Skills", () => {
  const skills = (skill: () => Json): Script =>
    announcing(
      { [SKILLS]: { directoryRead: true } },
      {
        "tools/list": () => ({ tools: [] }),
        "skills/list": ({ cursor }) =>
          cursor === undefined ? { skills: [], nextCursor: "2" } : { skills: [skill()] },
        "skills/get": () => ({ skill: skill() }),
        "resources/directory/read": ({ uri, cursor }) => ({
          resources: [{ uri: `${uri}/form.md`, name: "form.md" }],
          ...(cursor === undefined ? { nextCursor: "more" } : {}),
        }),
        "resources/read": ({ uri }) => ({
          contents: [{ uri, text: `${skill()["frontmatter"].name} ${uri}` }],
        }),
      },
    );
  const shown = "skill://b+tax/SKILL.md";

  it("of all servers are one list, each read and asked about at its own", async () => {
    const broken: Script = announcing({ [SKILLS]: {} }, { "tools/list": () => ({ tools: [] }) });
    const [opened] = await appOf({
      a: skills(() => skillOf("a")),
      b: skills(() => skillOf("b")),
      broken,
    });
    await using app = opened;
    await using client = await RawClient.connect(app.door, { revision: "2026-07-28" });
    const { result } = await client.request("skills/list");
    assert.equal(result.cacheScope, "private");
    const all = result.skills as Json[];
    assert.deepEqual(
      all.map(({ uri, frontmatter }) => [uri, frontmatter.name]),
      [
        [SKILL, "a"],
        [shown, "b"],
      ],
    );
    assert.equal(all[1]?.["resources"][0].uri, "skill://b+tax/form.md");
    const { result: got } = await client.request("skills/get", { uri: shown });
    assert.deepEqual(got.skill, all[1]);
    const { result: read } = await client.request("resources/read", {
      uri: "skill://b+tax/form.md",
    });
    assert.equal(read.contents[0].text, "b skill://tax/form.md");
    const directory = { uri: "skill://b+tax/form.md", cursor: "more" };
    const { result: page } = await client.request("resources/directory/read", directory);
    assert.equal(page.nextCursor, undefined);
    assert.equal(page.resources[0].uri, "skill://tax/form.md/form.md");
    const unknown = await client.request("skills/get", { uri: "skill://none" });
    assert.equal(unknown["error"].code, -32602);
  });

  it("that have changed are held until a person has looked at them", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    await using approvals = await Approvals.open(folder.path);
    let digest = "1";
    const offer = new Offer({ approver: approvals });
    const [opened] = await appOf({ a: skills(() => skillOf("a", digest)) }, { offer });
    await using app = opened;
    await using client = await RawClient.connect(app.door, { revision: "2026-07-28" });
    const count = async (): Promise<number> =>
      (await client.request("skills/list"))["result"].skills.length as number;
    assert.equal(await count(), 1);
    digest = "2";
    assert.equal(await count(), 0);
    const { error } = await client.request("skills/get", { uri: SKILL });
    assert.match(error.message, /is held until a person has looked at it/);
    await approvals.approve("a", `@skill ${SKILL}`);
    assert.equal(await count(), 1);
  });
});
