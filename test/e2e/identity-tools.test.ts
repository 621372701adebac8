import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Program } from "../support/program.ts";
import { covers } from "../support/requirement.ts";

type Answer = {
  readonly id: unknown;
  readonly result?: Record<string, never>;
  readonly error?: { readonly code: number; readonly message: string };
};

/** A configuration with one identity, and a repository that it is for. */
class Project implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-juggler-"));
  readonly repository = join(this.path, "app");
  readonly env: Readonly<Record<string, string>>;

  constructor() {
    const work = {
      provider: "github",
      user: "ada",
      email: "ada@acme.test",
      organizations: ["acme"],
    };
    writeFileSync(join(this.path, "config.jsonc"), JSON.stringify({ identities: { work } }));
    mkdirSync(this.repository);
    this.env = {
      TRUNKLINE_CONFIG: join(this.path, "config.jsonc"),
      TRUNKLINE_DATA: join(this.path, "data"),
      TRUNKLINE_TOKEN_STORE: "file",
      GIT_CONFIG_NOSYSTEM: "1",
    };
    this.git("init", "-q");
    this.git("remote", "add", "origin", "git@github.com:acme/app.git");
  }

  git(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.repository }).toString().trim();
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

const INITIALIZE = {
  jsonrpc: "2.0",
  id: "first",
  method: "acp/initialize",
  params: { clientInfo: { name: "intellij", version: "2024.3" } },
};

const action = (id: unknown, tool: string, args: object, projectPath?: string): object => ({
  jsonrpc: "2.0",
  id,
  method: "acp/executeAction",
  params: {
    tool,
    arguments: args,
    ...(projectPath === undefined ? {} : { context: { projectPath } }),
  },
});

describe("RemoteJuggler's action dialect, as an IDE speaks it", { timeout: 600_000 }, () => {
  for (const dialect of ["juggler", "auto"]) {
    it(`switches and fails with the document's words (--dialect ${dialect})`, async () => {
      covers("identity.transport.stdin", "identity.transport.stdout", "identity.framing.line");
      using project = new Project();
      await using program = new Program(["acp", "--dialect", dialect], { env: project.env });
      program.write(INITIALIZE);
      await program.answers(1);
      program.write(
        { jsonrpc: "2.0", method: "notifications/initialized" },
        action(2, "juggler_switch", { identity: "work" }, project.repository),
        action("3", "juggler_switch", { identity: "wrok" }, project.repository),
        action(4, "juggler_status", {}, project.repository),
        action(5, "no_such_tool", {}),
      );
      const answers = (await program.answers(5)) as unknown as Answer[];
      program.child.stdin.end();
      assert.equal(await program.exit, 0);
      const byId = new Map(answers.map((answer) => [answer.id, answer]));
      const { serverInfo, tools } = (byId.get("first")?.result ?? {}) as {
        serverInfo?: { name: string };
        tools?: { name: string }[];
      };
      assert.equal(serverInfo?.name, "Trunkline");
      const names = new Set(tools?.map(({ name }) => name));
      assert.ok(names.has("juggler_switch") && names.has("juggler_detect_identity"));
      const switched = byId.get(2)?.result as { success?: boolean; output?: string } | undefined;
      assert.equal(switched?.success, true);
      assert.match(switched?.output ?? "", /^Switched to identity: work\n/);
      assert.equal(project.git("config", "user.email"), "ada@acme.test");
      const { code, message } = byId.get("3")?.error ?? {};
      assert.deepEqual([code, message], [-32001, "Identity not found"]);
      assert.match(JSON.stringify(byId.get(4)?.result), /Current identity: work/);
      assert.equal(byId.get(5)?.error?.code, -32602);
    });
  }
});

describe("a token that a client sends", { timeout: 600_000 }, () => {
  it("is in no log, however verbose, and in no answer", async () => {
    covers("identity.transport.stderr", "identity.debug.variable", "identity.debug.log");
    using project = new Project();
    const token = "glpat-0123456789abcdefghij";
    const env = { ...project.env, TRUNKLINE_VERBOSE: "1", REMOTE_JUGGLER_VERBOSE: "1" };
    await using program = new Program(["acp", "--dialect", "juggler"], { env });
    program.write(action(1, "juggler_store_token", { identity: "work", token }));
    program.write(action(2, "juggler_token_get", { identity: "work" }));
    await program.answers(2);
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
    assert.match(program.lines.join("\n"), /glpa•+ghij/);
    // The request with its parameters, and the answer with the tool's result.
    assert.match(program.stderr, /acp\/executeAction.*juggler_store_token.*"?identity"?.*work/);
    assert.match(program.stderr, /Token stored for identity: work/);
    for (const text of [program.stderr, ...program.lines]) assert.ok(!text.includes(token));
  });
});

describe("RemoteJuggler's tools over MCP", { timeout: 600_000 }, () => {
  it("give the answers that the document shows", async () => {
    using project = new Project();
    const options = { env: project.env, cwd: project.repository };
    await using program = new Program(["mcp"], options);
    const call = (id: number, name: string, args: object): object => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name, arguments: args },
    });
    const clientInfo = { name: "client-name", version: "1.0.0" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    program.write({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    await program.answers(1);
    program.write(
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/list" },
    );
    const listed = ((await program.answers(2)) as unknown as Answer[])[1]?.result;
    const { tools = [] } = (listed ?? {}) as { tools?: { name: string }[] };
    assert.equal(tools.filter(({ name }) => name.startsWith("juggler_")).length, 15);
    program.write(call(3, "juggler_switch", { identity: "work", setRemote: true }));
    const answers = (await program.answers(3)) as unknown as Answer[];
    const { content } = (answers[2]?.result ?? {}) as { content?: { text: string }[] };
    assert.match(content?.[0]?.text ?? "", /^Switched to identity: work\n/);
    program.write(call(4, "juggler_switch", { identity: "wrok" }));
    const failed = ((await program.answers(4)) as unknown as Answer[])[3]?.result as
      | { content?: unknown; isError?: boolean }
      | undefined;
    assert.deepEqual(failed?.content, [{ type: "text", text: "Error: Identity not found" }]);
    assert.equal(failed?.isError, true);
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
  });
});
