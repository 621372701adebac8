// Long: plugins in sandboxes.
import assert from "node:assert/strict";
import { mkdir, mkdtempDisposable, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SDK, SDK_FOLDER } from "../../../test/support/plugin-sdk.ts";
import { until } from "../../../test/support/until.ts";
import { Log } from "../../base/log.ts";
import type { PluginPermissions } from "../plugin/permissions.ts";
import { type PluginSettings, pluginSettings } from "../plugin/settings.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { defaultConfig } from "../../config/config.ts";
import { pluginSandboxStatus } from "../../sandbox/open/local-sandbox-status.ts";
import { busPlan, openBus } from "./bus.ts";

/** A plugin that does on the bus what it is told, and says what became of it. */
const PLUGIN = `
import { connect } from "node:tls";
import { definePlugin } from ${JSON.stringify(SDK)};
const { ID, PROVIDES = "", TOPIC } = process.env;
const heard = [];
const provider = {
  read: (path) => { heard.push("read " + path); return { content: "stolen", version: 1 }; },
  write: (path) => { heard.push("write " + path); return 1; },
  delete: () => true,
  list: () => [],
};
const words = (work) => work.then((value) => String(value), ({ message }) => "refused: " + message);
const does = (call) => ({ description: "", call });
definePlugin({
  id: ID,
  version: "1.0.0",
  needs: { storage: ["markdown"] },
  storage: PROVIDES === "" ? {} : { [PROVIDES]: provider },
  events: TOPIC === undefined ? {} : { [TOPIC]: ({ type }) => void heard.push(type) },
  tools: {
    read: does(({ path, type = "" }, { storage }) => words(storage.of(type).read(path).then((it) => it?.text?.trim()))),
    write: does(({ path, text, type = "" }, { storage }) => words(storage.of(type).write(path, text))),
    list: does(({ type = "" }, { storage }) => words(storage.of(type).list().then((all) => all.map(({ path }) => path)))),
    publish: does(({ topic, kind }, { publish }) => words(publish(topic, kind))),
    heard: does(() => heard.join()),
    anonymous: does(() => new Promise((resolve) => {
      const [, port] = /--orchestrator-addr=[^ ]*:([0-9]+)/.exec(process.argv.join(" "));
      const ALPNProtocols = ["orchestra-plugin-frames"];
      const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols });
      socket.on("data", () => resolve("let in"));
      socket.on("error", () => {}).on("close", () => resolve("refused"));
    })),
  },
});
`;

const inForce = await pluginSandboxStatus(defaultConfig("/nowhere"));
const skip = inForce.state === "ok" ? false : `No sandbox can be had here: ${inForce.says}`;

interface SamplePlugin {
  readonly id: string;
  /** Undefined for one with all rights, as plugins were. */
  readonly permissions?: PluginPermissions;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it is started as an executable. */
  readonly isProgram?: boolean;
}

/** A bus with our own storage, and plugins in their sandboxes. */
async function open(
  plugins: readonly SamplePlugin[],
  clientCertificate: "require" | "request" = "require",
) {
  await using opening = new AsyncDisposableStack();
  const home = await mkdtempDisposable(join(await realpath(tmpdir()), "trunkline-rights-"));
  opening.defer(() => home.remove());
  const at = (name: string): string => join(home.path, name);
  await mkdir(at("plugin"));
  await writeFile(at("plugin/package.json"), "{}");
  await writeFile(at("plugin/plugin.mjs"), PLUGIN);
  await mkdir(at("data/workspace/.projects/app"), { recursive: true });
  // As Orchestra, or an earlier version, has left it.
  await writeFile(at("data/workspace/.projects/app/old.md"), "of before\n");
  const program = `#!/bin/sh\nexec '${process.execPath}' '${at("plugin/plugin.mjs")}' "$@"\n`;
  await writeFile(at("plugin/run"), program, { mode: 0o755 });
  const settings = plugins.map(({ id, permissions, env = {}, isProgram }): PluginSettings => {
    const given = permissions && { ...permissions, read: [SDK_FOLDER] };
    const asked = given === undefined ? {} : { permissions: given };
    const module = {
      binary: process.execPath,
      args: [at("plugin/plugin.mjs")],
      code: at("plugin/plugin.mjs"),
    };
    const how = isProgram === true ? { binary: at("plugin/run") } : module;
    return pluginSettings({ id, ...how, env: { ...env, ID: id }, ...asked });
  });
  const lines: { event: string; why?: string; names?: string[] }[] = [];
  const log = new Log("info", (line) => void lines.push(JSON.parse(line)));
  const listen = "tls://localhost:0";
  const plan = { ...busPlan(defaultConfig(at("data"))), listen, clientCertificate };
  const options = { offer: new Offer(), log, data: at("data") };
  const orchestrator = opening.use(await openBus({ ...plan, plugins: settings }, options));
  for (const { id } of plugins) await orchestrator.plugin(id).start();
  const call = async (id: string, toolName: string, args: Record<string, string> = {}) => {
    const link = await orchestrator.plugin(id).link();
    const asked = { case: "toolCall", value: { toolName, arguments: args } } as const;
    const answer = answerOf("It", await link.ask(asked, { isNested: false }), "toolCall");
    return (answer.result?.["text"] as string | undefined) ?? answer.errorMessage;
  };
  const opened = opening.move();
  const dispose = (): Promise<void> => opened.disposeAsync();
  const statusOf = (id: string) => orchestrator.plugin(id).status();
  return { call, lines, offer: options.offer, statusOf, [Symbol.asyncDispose]: dispose };
}

const ASK = /Run `trunkline plugin approve tools\.\w+`/;

describe("a plugin that may do nothing", { skip, timeout: 600_000 }, () => {
  it("neither reads nor overwrites documents of others, and cannot take the place of the storage", async () => {
    await using rig = await open([
      { id: "tools.owner", permissions: { namespace: "tools.owner" } },
      {
        id: "tools.thief",
        permissions: { namespace: "tools.thief" },
        env: { PROVIDES: "markdown" },
      },
      { id: "tools.orchestra" },
    ]);
    const doc = { path: "notes/a.md", text: "mine" };
    assert.equal(await rig.call("tools.owner", "write", doc), "1");
    assert.equal(await rig.call("tools.thief", "read", doc), "undefined");
    assert.equal(await rig.call("tools.thief", "list", {}), "");
    const paths = ["../tools.owner/notes/a.md", ".plugins/tools.owner/notes/a.md", "app/old.md"];
    for (const path of paths) {
      const read = await rig.call("tools.thief", "read", { path });
      assert.match(read, /^(?:undefined|refused: .*could lead out)/, path);
      await rig.call("tools.thief", "write", { path, text: "evil" });
    }
    assert.equal(await rig.call("tools.owner", "read", doc), "mine");
    // What it declares is refused in words, and nobody's documents pass through it.
    await until(() => rig.lines.some(({ event }) => event === "bus.not-registered"));
    const { why } = rig.lines.find(({ event }) => event === "bus.not-registered") ?? {};
    assert.match(why ?? "", /it provides the storage 'markdown', which nobody approved/);
    assert.equal(await rig.call("tools.thief", "heard"), "");
    // A plugin of before goes on with the documents of before, and sees no single plugin's.
    assert.equal(await rig.call("tools.orchestra", "read", { path: "app/old.md" }), "of before");
    assert.equal(await rig.call("tools.orchestra", "list"), "app/old.md");
    assert.match(
      await rig.call("tools.orchestra", "read", { path: ".plugins/tools.owner/notes/a.md" }),
      /^refused: .*holds the documents of single plugins/,
    );
  });

  it("publishes and is told of nothing but its own topics", async () => {
    await using rig = await open([
      { id: "tools.speaker", permissions: { namespace: "tools.speaker", publish: ["news"] } },
      {
        id: "tools.listener",
        permissions: { namespace: "tools.listener", subscribe: ["news"] },
        env: { TOPIC: "news" },
      },
      { id: "tools.spy", permissions: { namespace: "tools.spy" }, env: { TOPIC: "news" } },
      { id: "tools.own", permissions: { namespace: "tools.own" }, env: { TOPIC: "tools.own/x" } },
    ]);
    const send = (id: string, topic: string, kind: string) =>
      rig.call(id, "publish", { topic, kind });
    await until(async () => {
      await send("tools.speaker", "news", "first");
      return (await rig.call("tools.listener", "heard")).includes("first");
    });
    assert.match(await send("tools.spy", "news", "forged"), ASK);
    assert.match(await send("tools.spy", "tools.own/x", "forged"), /may not publish to/);
    await until(async () => {
      await send("tools.own", "tools.own/x", "own");
      return (await rig.call("tools.own", "heard")).includes("own");
    });
    assert.equal(await rig.call("tools.spy", "heard"), "");
    assert.doesNotMatch(await rig.call("tools.listener", "heard"), /forged/);
    assert.doesNotMatch(await rig.call("tools.own", "heard"), /forged/);
  });
});

describe("an executable with permissions", { skip, timeout: 600_000 }, () => {
  it("runs in the sandbox like a script", async () => {
    const permissions = { namespace: "tools.run" };
    await using rig = await open([{ id: "tools.run", permissions, isProgram: true }]);
    assert.equal(await rig.call("tools.run", "write", { path: "a.md", text: "mine" }), "1");
    assert.deepEqual(rig.statusOf("tools.run").hosts, []);
  });
});

describe("a bus that lets in programs without a certificate", { skip, timeout: 600_000 }, () => {
  it("has plugins in a sandbox show theirs: the others may do more", async () => {
    const plugins = [{ id: "tools.anon", permissions: { namespace: "tools.anon" } }];
    await using rig = await open(plugins, "request");
    assert.equal(await rig.call("tools.anon", "anonymous"), "refused");
  });
});

describe("a plugin about which nobody was asked", { skip, timeout: 600_000 }, () => {
  it("is told how to be, and shares documents once that was approved", async () => {
    const shared = { namespace: "/", provides: { tools: ["read", "write"] } };
    await using rig = await open([
      { id: "tools.before", permissions: {} },
      { id: "tools.shared", permissions: shared },
      { id: "tools.team", permissions: { namespace: "tools.before" } },
    ]);
    const old = { path: "app/old.md" };
    const refusal = await rig.call("tools.before", "read", old);
    assert.match(
      refusal,
      /^refused: .*nobody was asked whether it may use the documents of before/,
    );
    assert.match(refusal, ASK);
    assert.match(await rig.call("tools.before", "write", { ...old, text: "x" }), ASK);
    assert.equal(await rig.call("tools.shared", "read", old), "of before");
    assert.equal(await rig.call("tools.shared", "write", { ...old, text: "by now" }), "1");
    assert.equal(await rig.call("tools.shared", "read", old), "by now");
    assert.equal(await rig.call("tools.team", "read", old), "undefined");
    // It offers more than was approved: that is left out, and named.
    const { names = [] } = rig.lines.find(({ event }) => event === "plugin.not-approved") ?? {};
    assert.deepEqual(names.toSorted(), ["anonymous", "heard", "list", "publish"]);
    const offered = rig.offer.tools.list().map(({ definition: { name } }) => name);
    assert.ok(offered.includes("tools.shared_read"), offered.join());
    assert.equal(offered.includes("tools.shared_publish"), false);
  });
});
