import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { chown, mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { createSocket } from "node:dgram";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { sampleTool } from "../../../test/samples/sample-context.ts";
import { SDK, SDK_FOLDER } from "../../../test/support/plugin-sdk.ts";
import { until } from "../../../test/support/until.ts";
import { Log } from "../../base/log.ts";
import type { PluginPermissions } from "../plugin/permissions.ts";
import { openOrchestrator } from "../orchestrator.ts";
import type { ConfinedPlugin } from "../plugin/plugin-process.ts";
import { pluginSettings } from "../plugin/settings.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { textResult } from "../../tool/tool.ts";
import { connect, listen } from "../../wire/quic/transport.ts";
import { defaultConfig } from "../../config/config.ts";
import { pluginSandboxStatus } from "../../sandbox/open/local-sandbox-status.ts";
import { sandboxPrograms } from "../../sandbox/open/local-sandbox.ts";
import { confinePlugins } from "./confine-plugins.ts";

/** A plugin that tries to reach everything, and says what became of each try. */
const PLUGIN = `
import { createSocket } from "node:dgram";
import { lookup, resolve4 } from "node:dns/promises";
import { connect } from "node:net";
import { execFileSync } from "node:child_process";
import { definePlugin } from ${JSON.stringify(SDK)};
const open = (where) => new Promise((resolve) => {
  const socket = connect(where);
  let said = "";
  socket.on("data", (bytes) => { said += bytes; });
  socket.on("close", () => resolve(said));
  socket.on("error", ({ code }) => resolve(code));
});
const datagram = (port, host) => new Promise((resolve) => {
  const socket = createSocket("udp4");
  const done = (what) => { socket.close(); resolve(what); };
  socket.send("x", port, host, (error) => done(error?.code ?? "sent"));
});
const failing = (promise) => promise.then(() => "answered", ({ code }) => code);
const call = (tool) => ({ description: "", call: tool });
definePlugin({
  id: "tools.reach",
  version: "1.0.0",
  needs: { tools: ["clock"] },
  tools: {
    web: call(({ url }) => fetch(url).then(async (answer) => answer.status + " " + await answer.text(),
      ({ cause, message }) => cause?.code ?? message)),
    tcp: call(({ port }) => open({ host: "127.0.0.1", port })),
    remote: call(({ host }) => open({ host, port: 443 })),
    unix: call(({ path }) => open({ path })),
    udp: call(({ port, host }) => datagram(port, host)),
    dns: call(async ({ name }) => await failing(lookup(name)) + " " + await failing(resolve4(name))),
    bus: call(async (_, { callTool }) => (await callTool("clock")).text),
    run: call(({ line }) => { try { return execFileSync("/bin/sh", ["-c", line], { encoding: "utf8" }); } catch (error) { return error.code ?? error.message; } }),
    pid: call(() => String(process.pid)),
  },
});
`;

const inForce = await pluginSandboxStatus(defaultConfig("/nowhere"));
const skip = inForce.state === "ok" ? false : `No sandbox can be had here: ${inForce.says}`;

async function open(permissions: PluginPermissions) {
  await using opening = new AsyncDisposableStack();
  const home = await mkdtempDisposable(join(tmpdir(), "trunkline-confine-"));
  opening.defer(() => home.remove());
  const at = (name: string): string => join(home.path, name);
  await mkdir(at("plugin"));
  await writeFile(at("plugin/package.json"), "{}");
  await writeFile(at("plugin/plugin.mjs"), PLUGIN);
  await symlink(at("plugin"), at("link"));
  const lines: { event: string; host?: string; why?: string }[] = [];
  const log = new Log("info", (line) => void lines.push(JSON.parse(line)));
  const offer = new Offer();
  const names = ["127.0.0.1"];
  const confine = confinePlugins({
    ...{ sandbox: "on", data: at("approved/data"), log },
    // Names lead to this machine here, and may: nothing else can be relied on in a test.
    egress: { resolve: async () => names, forbids: () => false },
  });
  const orchestrator = opening.use(
    await openOrchestrator({
      ...{ listen: "tls://localhost:0", certsDir: at("certs"), clientCertificate: "require" },
      ...{ offer, storage: {}, transport: { listen, connect }, log, confine },
    }),
  );
  const read = [SDK_FOLDER, at("approved"), ...(permissions.read ?? [])];
  await orchestrator.configure([
    pluginSettings({
      ...{
        id: "tools.reach",
        binary: process.execPath,
        args: [at("link/plugin.mjs")],
        code: at("link/plugin.mjs"),
      },
      permissions: { ...permissions, read },
    }),
  ]);
  const plugin = orchestrator.plugin("tools.reach");
  const call = async (toolName: string, args: Record<string, string | number> = {}) => {
    const link = await plugin.link();
    const asked = { case: "toolCall", value: { toolName, arguments: args } } as const;
    const { result, errorMessage } = answerOf(
      "It",
      await link.ask(asked, { isNested: false }),
      "toolCall",
    );
    return result === undefined ? errorMessage : (result["text"] as string);
  };
  /** The socket of a gateway, in an approved folder. */
  const gatewayIsOutOfReach = async (): Promise<void> => {
    const path = at("approved/data/gateway.sock");
    await using gateway = await listening({ path });
    assert.equal(await call("unix", { path }), "ENOENT");
    assert.equal(gateway.visits(), 0);
  };
  const opened = opening.move();
  return {
    at,
    call,
    gatewayIsOutOfReach,
    plugin,
    lines,
    offer,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Something of this machine that listens, and how often somebody came. */
async function listening(where: { port: number } | { path: string }) {
  let visits = 0;
  const server: Server = createServer((socket) => {
    visits += 1;
    socket.on("error", () => {}).end("welcome");
  });
  await once(server.listen({ ...where, host: "127.0.0.1" }), "listening");
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
    visits: () => visits,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}

/** Sockets as ssh-agents have them: one in a folder that is approved, and others. */
class SampleAgents implements AsyncDisposable {
  readonly own: string;
  readonly #paths: readonly string[];
  readonly #others: readonly Awaited<ReturnType<typeof listening>>[];
  readonly #stack: AsyncDisposableStack;

  private constructor(
    own: string,
    paths: readonly string[],
    agents: Awaited<ReturnType<typeof listening>>[],
    stack: AsyncDisposableStack,
  ) {
    const [, ...others] = agents;
    this.own = own;
    this.#paths = paths;
    this.#others = others;
    this.#stack = stack;
  }

  static async open(): Promise<SampleAgents> {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtempDisposable(join(tmpdir(), "trunkline-agent-"));
    stack.defer(() => folder.remove());
    const own = join(folder.path, "own");
    await mkdir(own);
    const abstract = `\0trunkline-${crypto.randomUUID()}`;
    const paths = [join(own, "agent.1"), join(folder.path, "agent.2"), abstract];
    const agents = [];
    for (const path of paths) agents.push(stack.use(await listening({ path })));
    return new SampleAgents(own, paths, agents, stack.move());
  }

  async areOutOfReachOf({ call }: Awaited<ReturnType<typeof open>>): Promise<void> {
    const tries = await Promise.all(this.#paths.map((path) => call("unix", { path })));
    assert.deepEqual(tries, ["welcome", "ENOENT", "ECONNREFUSED"]);
    assert.ok(this.#others.every(({ visits }) => visits() === 0));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

async function website() {
  const server = createHttpServer(({ headers }, response) => response.end(`hello ${headers.host}`));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("a plugin with permissions", { skip, timeout: 600_000 }, () => {
  it("reaches the bus and the approved hosts, and no other socket; nothing of it is left", async () => {
    await using site = await website();
    await using allowed = await listening({ port: 0 });
    await using agents = await SampleAgents.open();
    await using udp = createSocket("udp4");
    await once(udp.bind(0, "127.0.0.1"), "listening");
    let datagrams = 0;
    udp.on("message", () => (datagrams += 1));
    const hosts = ["api.example.org", "*.example.com", `port.example.net:${site.port}`];
    await using rig = await open({
      hosts: [...hosts, `localhost:${allowed.port}`],
      tools: ["clock"],
      read: [agents.own],
    });
    await rig.plugin.start();
    await using services = new AsyncDisposableStack();
    // In its own network, the plugin may listen on a port that is another's here.
    const own = Number(rig.plugin.status().address?.split(":").at(-1));
    let service;
    do service = services.use(await listening({ port: 0 }));
    while (service.port === own);
    const web = (host: string, port = site.port): Promise<string> =>
      rig.call("web", { url: `http://${host}:${port}/` });
    for (const host of ["api.example.org", "a.b.example.com", "port.example.net"]) {
      assert.equal(await web(host), `200 hello ${host}:${site.port}`);
    }
    const refusal =
      /^403 .*'other\.example\.org' is not among the hosts that `bus\.plugins\."tools\.reach"/;
    assert.match(await web("other.example.org"), refusal);
    assert.match(await web("port.example.net", service.port), /^403 /);
    const refused = rig.lines.filter(({ event }) => event === "plugin.host-refused");
    assert.deepEqual(
      refused.map(({ host }) => host),
      ["other.example.org", "port.example.net"],
    );
    assert.equal(await rig.call("tcp", { port: service.port }), "ECONNREFUSED");
    assert.equal(service.visits(), 0);
    assert.equal(await rig.call("tcp", { port: allowed.port }), "welcome");
    assert.equal(await rig.call("remote", { host: "192.0.2.1" }), "ENETUNREACH");
    assert.equal(await rig.call("udp", { host: "192.0.2.1", port: 53 }), "ENETUNREACH");
    await rig.call("udp", { host: "127.0.0.1", port: udp.address().port });
    assert.equal(datagrams, 0);
    assert.doesNotMatch(await rig.call("dns", { name: "api.example.org" }), /answered/);
    await agents.areOutOfReachOf(rig);
    await rig.gatewayIsOutOfReach();
    assert.equal(await rig.call("pid"), "2", "it sees no process of the machine");
    rig.offer.tools.add(sampleTool("clock", () => textResult("noon")));
    assert.equal(await rig.call("bus"), "noon");

    const { pid = 0 } = rig.plugin.status();
    process.kill(pid, "SIGKILL");
    await until(() => rig.plugin.status().restarts === 1 && rig.plugin.state === "up");
    assert.equal(await rig.call("bus"), "noon");
    await until(
      () => openNetworks() === 1 && readdirSync(rig.at("approved/data/sandbox")).length === 1,
    );
    await rig.plugin.stop();
    assert.equal(openNetworks(), 0);
    assert.deepEqual(readdirSync(rig.at("approved/data/sandbox")), []);
  });

  it("may start programs, if that was approved, which reach no more than it does", async () => {
    await using site = await website();
    await using service = await listening({ port: 0 });
    await using agents = await SampleAgents.open();
    await using rig = await open({ run: true, hosts: ["api.example.org"], read: [agents.own] });
    await rig.plugin.start();
    const fetching = (url: string): Promise<string> => {
      const code = `fetch("${url}").then((it) => it.text()).then(console.log, (error) => console.log(error.cause.code))`;
      return rig.call("run", { line: `'${process.execPath}' --eval '${code}'` });
    };
    assert.match(await fetching(`http://api.example.org:${site.port}/`), /^hello api/);
    assert.match(await fetching("http://other.example.org/"), /is not among the hosts/);
    assert.equal(await fetching(`http://127.0.0.1:${service.port}/`), "ECONNREFUSED\n");
    await agents.areOutOfReachOf(rig);
    await rig.gatewayIsOutOfReach();
    assert.equal(await rig.call("run", { line: "ls /run /var/tmp" }), "/run:\n\n/var/tmp:\n");
    // Programs have the files of their user, unlike the plugin itself.
    const passwd = await rig.call("run", { line: "cat /etc/passwd" });
    assert.equal(passwd, readFileSync("/etc/passwd", "utf8"));
  });
});

const plugin: ConfinedPlugin = {
  ...{ id: "tools.x", read: [], write: [], run: false, hosts: [], ports: new Map() },
  bus: () => assert.fail(),
};

describe("where a sandbox works", { skip, timeout: 600_000 }, () => {
  it("a plugin whose own sandbox fails is not started without one", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-confine-"));
    const pipe = join(home.path, "pipe");
    execFileSync("mkfifo", [pipe]);
    const log = new Log("info", assert.fail);
    const data = join(home.path, "data");
    const auto = confinePlugins({ data, log, sandbox: "auto" });
    await assert.rejects(auto({ ...plugin, read: [pipe] }), {
      code: "unavailable",
      message: /Cannot use '.*pipe' in a sandbox: it is neither a file nor a folder/,
    });
    const ports = new Map([[80, "127.0.0.1"]]);
    await assert.rejects(auto({ ...plugin, ports }), { code: "unavailable", message: /EACCES/ });
    assert.deepEqual(readdirSync(join(data, "sandbox")), []);
  });

  it("nor is one whose sandbox fails later", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-confine-"));
    const log = new Log("info", assert.fail);
    const programs = { ...sandboxPrograms() };
    const auto = confinePlugins({ data: home.path, log, programs, sandbox: "auto" });
    await (await auto(plugin))?.[Symbol.asyncDispose]();
    Object.assign(programs, { bwrap: "/bin/false" });
    await assert.rejects(auto(plugin), { code: "unavailable" });
  });
});

describe("where no sandbox works", () => {
  const programs = { bwrap: "/bin/false", nsenter: "/bin/false" };

  it("a plugin is not started, unless a person has switched the sandbox off", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-confine-"));
    const lines: { event: string; why?: string }[] = [];
    const log = new Log("info", (line) => void lines.push(JSON.parse(line)));
    const options = { data: home.path, log, programs };
    for (const sandbox of ["auto", "on"] as const) {
      await assert.rejects(confinePlugins({ ...options, sandbox })(plugin), {
        code: "unavailable",
        message:
          /^It is not started, .*: Cannot create a network for a sandbox.*(?:Run|Try|Start)/s,
      });
    }
    assert.deepEqual(lines, []);
    const off = confinePlugins({ ...options, sandbox: "off" });
    for (let start = 1; start <= 2; start += 1) assert.equal(await off(plugin), undefined);
    assert.deepEqual(
      lines.map(({ event, why }) => [event, why]),
      [["plugin.not-limited", "`bus.sandbox` is `off`, so it runs with all of your rights"]],
    );
    assert.deepEqual(readdirSync(join(home.path, "sandbox")), []);
  });

  const noRoot = process.getuid?.() === 0 ? false : "needs root";

  it("root starts no plugin that may read others' files", { skip: noRoot }, async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-confine-"));
    const path = join(home.path, "private");
    await writeFile(path, "", { mode: 0o600 });
    await chown(path, 1_000, 1_000);
    const log = new Log("info", assert.fail);
    const auto = confinePlugins({ data: home.path, log, programs, sandbox: "auto" });
    await assert.rejects(auto({ ...plugin, read: [path] }), {
      code: "unavailable",
      message: /runs as root, and '.*private' belongs to another user\. Run Trunkline as that user/,
    });
  });

  it("a failure that is none of the machine's does not open the network", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-confine-"));
    const data = join(home.path, "file");
    await writeFile(data, "");
    const log = new Log("info", assert.fail);
    const auto = confinePlugins({ data, log, programs, sandbox: "auto" });
    await assert.rejects(auto(plugin), { code: "ENOTDIR" });
  });
});

/** Network namespaces that this process keeps. */
function openNetworks(): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith("net:");
    } catch {
      return false;
    }
  }).length;
}
