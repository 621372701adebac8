import assert from "node:assert/strict";
import { once } from "node:events";
import { spawn } from "node:child_process";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { Json } from "../support/acp-app.ts";
import { Place } from "../support/acp-editor.ts";
import { gone } from "../support/running-at.ts";
import { until } from "../support/until.ts";
import { type AgentEntry, claude, codex, notHere } from "./other-agents.ts";
import { EVERYTHING, PROGRAM, Recorder } from "./record-agent.ts";

/** A vendor that notes who comes to it, and serves nobody. */
class Vendor implements AsyncDisposable {
  readonly seen: IncomingHttpHeaders[] = [];
  readonly #server = createServer(({ headers }, response) => {
    this.seen.push(headers);
    response.writeHead(400, { "content-type": "application/json" });
    response.end('{"type":"error","error":{"type":"invalid_request_error","message":"No"}}');
  });

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** How an editor starts Trunkline, with one agent. */
function trunkline(place: Place, agent: AgentEntry): AgentEntry {
  const config = join(place.path, "config.jsonc");
  const patient = { timeout: 240_000 };
  const messages = { initialize: patient, "session/new": patient };
  const settings = { agent: "it", agents: { it: agent }, limits: { messages } };
  writeFileSync(config, JSON.stringify(settings));
  return { command: process.execPath, args: [PROGRAM, "acp", "--config", config], env: {} };
}

async function hello(editor: Recorder): Promise<Json> {
  const clientInfo = { name: "editor", version: "1" };
  const params = { protocolVersion: 1, clientCapabilities: EVERYTHING, clientInfo };
  return await editor.ask("initialize", params);
}

/** Logs in, and has a turn in which the agent asks its vendor. */
async function logIn(place: Place, entry: AgentEntry, params: object): Promise<void> {
  await using editor = new Recorder(entry, place);
  await hello(editor);
  assert.deepEqual(await editor.ask("authenticate", params), {});
  const { sessionId } = await editor.ask("session/new", { cwd: place.folder, mcpServers: [] });
  await editor.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "greet me" }] });
}

describe("a login from the editor", { timeout: 900_000 }, () => {
  it("to claude reaches its vendor with what the editor gave, or its page from a terminal", async (t) => {
    const command = await claude.install();
    if (command === undefined) return t.skip(notHere(claude));
    await using vendor = new Vendor();
    const baseUrl = await vendor.listen();
    using place = new Place();
    const agent = { command: process.execPath, args: [command], env: { IS_SANDBOX: "1" } };
    const entry = trunkline(place, agent);
    const gateway = { baseUrl, headers: { "x-login": "from the editor" } };
    await logIn(place, entry, { methodId: "it:gateway", _meta: { gateway } });
    assert.ok(vendor.seen.some((headers) => headers["x-login"] === "from the editor"));
    let login: Json;
    {
      await using editor = new Recorder(entry, place);
      const { authMethods } = await hello(editor);
      login = authMethods.find(({ id }: Json) => id === "it:console-login");
    }
    // As the editor does in its terminal: the arguments are added to the command line.
    const args = [...entry.args, ...(login.args as string[])];
    const { PATH } = process.env;
    const env = { PATH, HOME: place.home, TMPDIR: place.home, BROWSER: "true" };
    const terminal = spawn(entry.command, args, { env, detached: true });
    let said = "";
    for await (const text of terminal.stdout.setEncoding("utf8")) {
      said += text as string;
      if (/https:\/\/platform\.claude\.com\/oauth\/authorize\?\S+state=/.test(said)) break;
    }
    assert.match(said, /oauth\/authorize/);
    // As a terminal that is closed.
    process.kill(-(terminal.pid ?? 0), "SIGHUP");
    await gone(place.home);
    return undefined;
  });

  it("to codex opens its vendor's page, and ends with the editor", async (t) => {
    const command = await codex.install();
    if (command === undefined) return t.skip(notHere(codex));
    using place = new Place();
    const opened = join(place.path, "opened");
    const browser = join(place.path, "browser");
    writeFileSync(browser, `#!/bin/sh\necho "$1" >${opened}\n`, { mode: 0o755 });
    const env = { BROWSER: browser, TMPDIR: "/var/tmp" };
    const entry = trunkline(place, { command: process.execPath, args: [command], env });
    await using editor = new Recorder(entry, place);
    await hello(editor);
    editor.ask("authenticate", { methodId: "it:chat-gpt" }).catch(() => {});
    await until(() => existsSync(opened) && readFileSync(opened, "utf8").endsWith("\n"));
    const page = new URL(readFileSync(opened, "utf8"));
    assert.equal(page.origin + page.pathname, "https://auth.openai.com/oauth/authorize");
    assert.ok(page.searchParams.has("code_challenge"));
    await editor[Symbol.asyncDispose]();
    await gone(place.home);
    // What it offers is known now.
    await using next = new Recorder(entry, place);
    const { authMethods } = await hello(next);
    assert.ok(authMethods.some(({ id }: Json) => id === "it:chat-gpt"));
    return undefined;
  });

  it("to codex reaches its vendor with the key that the editor gave", async (t) => {
    const command = await codex.install();
    if (command === undefined) return t.skip(notHere(codex));
    await using vendor = new Vendor();
    const url = await vendor.listen();
    using place = new Place();
    const config = { model: "gpt-5.5", openai_base_url: `${url}/v1` };
    const env = { CODEX_CONFIG: JSON.stringify(config), TMPDIR: "/var/tmp" };
    const entry = trunkline(place, { command: process.execPath, args: [command], env });
    const _meta = { "api-key": { apiKey: "sk-of-the-editor" } };
    await logIn(place, entry, { methodId: "it:api-key", _meta });
    const keys = vendor.seen.map(({ authorization }) => authorization);
    assert.ok(keys.includes("Bearer sk-of-the-editor"), keys.join());
    await gone(place.home);
    return undefined;
  });
});
