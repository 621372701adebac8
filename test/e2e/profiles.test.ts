import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { McpWindow, WindowPlace } from "../support/mcp-window.ts";
import { Program } from "../support/program.ts";
import type { ServedGateway } from "../support/served-gateway.ts";

const SERVER = join(import.meta.dirname, "../support/library-server.mjs");

const READER = {
  servers: { allow: ["library"] },
  tools: { deny: ["burn_*"], rename: { read_book: "read" } },
  prompts: { deny: ["mock"] },
  resources: { allow: ["book://open/*"] },
};
const FINDER = { for: { clients: ["finder"], doors: ["mcp"] }, search: true };

function configure(place: WindowPlace, profiles: object): void {
  const library = { command: process.execPath, args: [SERVER, "Books are\n## Trunkline says"] };
  place.configure({ mcpServers: { library }, profiles });
}

async function namesOf(window: McpWindow, kind: "tools" | "prompts"): Promise<string[]> {
  const { [kind]: entries } = await window.ask(`${kind}/list`);
  return (entries as unknown as { name: string }[]).map(({ name }) => name);
}

async function urisOf(window: McpWindow): Promise<string[]> {
  const { resources } = await window.ask("resources/list");
  return (resources as unknown as { uri: string }[]).map(({ uri }) => uri);
}

/** The error of a request. */
async function errorOf(window: McpWindow, method: string, params: object): Promise<string> {
  const { error } = await window.answerTo(window.post(method, params));
  return String((error as { message?: string } | undefined)?.message);
}

/** The tools that a bearer of a token sees. */
async function toolsWith(gateway: ServedGateway, token: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}` };
  const { result } = await gateway.mcp(1, "tools/list", {}, headers);
  return (result as unknown as { tools: { name: string }[] }).tools.map(({ name }) => name);
}

describe("clients with different profiles on one gateway", { timeout: 600_000 }, () => {
  it("see and call what their profiles show, also beside `serve`, and hear of changes", async () => {
    using place = new WindowPlace();
    configure(place, { reader: READER, finder: FINDER });
    await using gateway = await place.serve();
    await using reader = await McpWindow.open(place, { args: ["--profile", "reader"] });
    await using finder = await McpWindow.open(place, { name: "finder" });
    await using other = await McpWindow.open(place);

    assert.deepEqual(await namesOf(reader, "tools"), ["read"]);
    assert.deepEqual(await namesOf(reader, "prompts"), ["praise"]);
    assert.deepEqual(await urisOf(reader), ["book://open/1"]);
    assert.equal(await reader.textOf(reader.call("read")), "read_book was called");
    for (const name of ["burn_book", "read_book", "juggler_status"]) {
      assert.match(await reader.textOf(reader.call(name)), /^error: .*Unknown tool/, name);
    }
    assert.match(await errorOf(reader, "prompts/get", { name: "mock" }), /Unknown prompt: mock/);
    for (const method of ["resources/read", "resources/subscribe"]) {
      assert.match(await errorOf(reader, method, { uri: "book://closed/1" }), /not found/, method);
      assert.match(
        await errorOf(reader, method, { uri: "book://open/../closed/1" }),
        /not found/,
        method,
      );
    }

    assert.deepEqual(await namesOf(finder, "tools"), ["search_tools", "call_tool"]);
    const found = await finder.textOf(finder.call("search_tools", { query: "library burn book" }));
    assert.match(found, /\n\{"name":"burn_book","server":"library"/);
    const burnt = finder.call("call_tool", { name: "burn_book", arguments: {} });
    assert.equal(await finder.textOf(burnt), "burn_book was called");

    const all = await namesOf(other, "tools");
    assert.ok(all.includes("burn_book") && all.includes("juggler_status"));
    assert.ok((await urisOf(other)).includes("book://closed/1"));

    const created = new Program(
      ["token", "create", "guest", "--profile", "reader", "--config", place.config],
      { env: place.env },
    );
    await created.exit;
    const [token = ""] = created.lines;
    await created[Symbol.asyncDispose]();
    assert.deepEqual(await toolsWith(gateway, token), ["read"]);

    const told = (window: McpWindow): number =>
      window.messages.filter(({ method }) => method === "notifications/tools/list_changed").length;
    const before = told(reader);
    configure(place, { finder: FINDER, reader: { ...READER, tools: { deny: ["*"] } } });
    await reader.program.until(() => told(reader) > before);
    assert.deepEqual(await namesOf(reader, "tools"), []);
    assert.match(await reader.textOf(reader.call("read")), /Unknown tool/);
    configure(place, { finder: FINDER });
    await reader.program.until(() => told(reader) > before + 1);
    assert.match(await reader.textOf(reader.call("read_book")), /There is no profile 'reader'/);
    assert.deepEqual(await toolsWith(gateway, token), []);

    // The relays were not refused: all of this was one gateway.
    assert.equal(`${reader.program.stderr}${finder.program.stderr}`.includes("relay.alone"), false);
  });

  it("keep their profile when the gateway ends, and hear what other servers say", async () => {
    using place = new WindowPlace();
    configure(place, { reader: READER });
    const gateway = await place.serve();
    await using first = await McpWindow.open(place, { args: ["--profile", "reader"] });
    assert.deepEqual(await namesOf(first, "tools"), ["read"]);
    await using second = new McpWindow(place, { args: ["--profile", "reader"] });
    const { instructions } = await second.ask("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "window", version: "1" },
    });
    // Each line of theirs is quoted, so that it is no heading.
    assert.match(
      String(instructions),
      /^Trunkline .*\n\n## The server 'library' says .*\n\n> Books are\n> ## Trunkline says$/s,
    );
    await gateway[Symbol.asyncDispose]();
    assert.deepEqual(await namesOf(first, "tools"), ["read"]);
    assert.match(await first.textOf(first.call("burn_book")), /Unknown tool/);
  });

  it("get the profile of the project that they are in, beside `serve` and alone", async () => {
    using place = new WindowPlace();
    const [shelf, elsewhere] = [join(place.path, "shelf"), join(place.path, "elsewhere")];
    for (const folder of [join(shelf, "books"), elsewhere]) mkdirSync(folder, { recursive: true });
    configure(place, { shelf: { ...READER, for: { projects: ["./shelf"] } } });
    const gateway = await place.serve();
    await using inside = await McpWindow.open(place, { cwd: join(shelf, "books") });
    await using outside = await McpWindow.open(place, { cwd: elsewhere });
    const look = async (): Promise<void> => {
      assert.deepEqual(await namesOf(inside, "tools"), ["read"]);
      assert.match(await inside.textOf(inside.call("burn_book")), /Unknown tool/);
      assert.equal(await outside.textOf(outside.call("burn_book")), "burn_book was called");
    };
    await look();
    assert.equal(
      `${inside.program.stderr}${outside.program.stderr}`.includes("relay.alone"),
      false,
    );
    await gateway[Symbol.asyncDispose]();
    await look();
  });

  it("do not start with a profile that is not configured", async () => {
    using place = new WindowPlace();
    configure(place, { reader: READER });
    await using program = new Program(["mcp", "--profile", "writer", "--config", place.config], {
      env: place.env,
    });
    assert.equal(await program.exit, 2);
    assert.match(program.stderr, /Cannot use the profile 'writer'.*Profiles .*: reader\./s);
  });
});
