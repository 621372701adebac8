// Long: packages are replaced under programs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentEditor } from "../agent/agent-editor.ts";
import { FakeLlm } from "../agent/fake-llm.ts";
import type { Json } from "../support/acp-app.ts";
import { rounds } from "../support/full-run.ts";
import { McpHttpServer } from "../support/mcp-http-server.ts";
import { FATES, PackageCopy } from "../support/package-copy.ts";
import { Program } from "../support/program.ts";

const SUPPORT = join(import.meta.dirname, "../support");
/** Of a forge that there is not. */
const SECRET = "token-0123456789abcdef";
const HANDSHAKE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};

/** What is asked and answered on standard streams, one after the other. */
async function ask(program: Program, method: string, params: object = {}): Promise<Json> {
  const id = `${method} ${program.lines.length}`;
  program.write({ jsonrpc: "2.0", id, method, params });
  const isIt = (line: string): boolean => JSON.parse(line).id === id;
  await program.until(({ lines }) => lines.some(isIt));
  const answer: Json = JSON.parse(program.lines.find(isIt) ?? "");
  assert.equal(answer.error, undefined, JSON.stringify(answer));
  return answer.result;
}

async function call(program: Program, name: string, args: object = {}): Promise<string> {
  const result = await ask(program, "tools/call", { name, arguments: args });
  return JSON.stringify(result);
}

/** In `npm test` each door has a fate of its own, in `npm run test:interop` each has all of them. */
const FATES_OF_A_DOOR = rounds({ few: 1, all: FATES.length });

for (const [number, fate] of FATES.entries()) {
  const turn = (door: number) => ({
    skip:
      (number - door + FATES.length) % FATES.length >= FATES_OF_A_DOOR &&
      "`npm run test:interop -- replaced-package` tries it with this door, too.",
  });

  describe(`a running program whose package was ${fate}`, { timeout: 600_000 }, () => {
    it("continues as MCP on stdio: its own tools, other servers and plugins", turn(0), async () => {
      await using web = await McpHttpServer.start();
      using copy = new PackageCopy();
      const config = {
        mcpServers: {
          notes: { command: process.execPath, args: [join(SUPPORT, "notes-server.mjs")] },
          web: { url: `${web.url}/mcp` },
        },
        identities: {
          work: { provider: "other", host: "127.0.0.1:1", user: "ann", email: "ann@example.org" },
        },
        bus: {
          plugins: {
            "tools.test": { command: process.execPath, args: [join(SUPPORT, "bus-plugin.ts")] },
          },
        },
      };
      await using program = new Program(["mcp", "--config", "config.jsonc"], {
        built: copy.program,
      });
      writeFileSync(join(program.home, "config.jsonc"), JSON.stringify(config));
      execFileSync("git", ["init", "-q"], { cwd: program.home });
      await ask(program, "initialize", HANDSHAKE);
      copy.befall(fate);
      const { tools } = await ask(program, "tools/list");
      const names = (tools as { name: string }[]).map(({ name }) => name);
      for (const name of ["juggler_status", "review_list", "read_note", "test_simple_text"]) {
        assert.ok(names.includes(name), `${name} is not among ${names.join(", ")}`);
      }
      assert.match(await call(program, "read_note", { name: "one" }), /The note one/);
      assert.match(await call(program, "test_simple_text"), /simple text/);
      assert.match(await call(program, "echo", { text: "from the bus" }), /from the bus/);
      assert.match(await call(program, "juggler_list_identities"), /identit/i);
      assert.match(await call(program, "juggler_status"), /repository|identity/i);
      assert.match(await call(program, "review_list"), /thread|comment/i);
      // The keychain is another package, and native: where it is gone, that is said.
      const stored = await call(program, "juggler_store_token", {
        identity: "work",
        token: SECRET,
      });
      assert.match(stored, /The keychain cannot be used: Cannot find package '@napi-rs\/keyring'/);
      await ask(program, "resources/list");
      await ask(program, "prompts/list");
      program.child.stdin.end();
      assert.equal(await program.exit, 0);
    });

    it("continues as ACP on stdio: sessions, commands and turns of a model", turn(1), async () => {
      using copy = new PackageCopy();
      await using llm = await FakeLlm.start([
        { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] },
        { content: "It says one." },
      ]);
      const files = { "a.txt": "one\n" };
      await using editor = new AgentEditor({ llm, files, built: copy.program });
      await editor.hello();
      copy.befall(fate);
      const session = await editor.ask("session/new", { cwd: editor.cwd, mcpServers: [] });
      const id = String(session.sessionId);
      const turn = await editor.say(id, "What does it say?");
      assert.equal(turn.stopReason, "end_turn");
      assert.ok(turn.text.endsWith("It says one."), turn.text);
      const help = await editor.say(id, "/help");
      assert.match(help.text, /\/undo/);
    });

    it("continues as a gateway: MCP over HTTP, old and new", turn(2), async () => {
      using copy = new PackageCopy();
      await using program = new Program(["serve", "--port", "0", "--json"], {
        built: copy.program,
      });
      await program.until(({ lines }) => lines.length > 0);
      const ready = JSON.parse(program.lines[0] ?? "") as { mcp: string; tokenFile?: string };
      const token = ready.tokenFile === undefined ? "" : readFileSync(ready.tokenFile, "utf8");
      copy.befall(fate);
      const post = async (method: string, params: object, more: object): Promise<Response> =>
        fetch(ready.mcp, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            ...(token === "" ? {} : { authorization: `Bearer ${token.trim()}` }),
            ...more,
          },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        });
      const hello = await post("initialize", HANDSHAKE, {});
      assert.equal(hello.status, 200, await hello.clone().text());
      await hello.text();
      const session = { "mcp-session-id": hello.headers.get("mcp-session-id") ?? "" };
      const listed = await post("tools/list", {}, session);
      assert.match(await listed.text(), /juggler_status/);
      const name = "juggler_list_identities";
      const called = await post("tools/call", { name, arguments: {} }, session);
      assert.match(await called.text(), /"result"/);
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      };
      const modern = await post(
        "tools/list",
        { _meta },
        { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
      );
      assert.match(await modern.text(), /juggler_status/);
      program.child.kill("SIGTERM");
      assert.equal(await program.exit, 0);
    });
  });
}
