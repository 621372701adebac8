import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleContext } from "../../../test/upstream/sample-context.ts";
import { AppContext } from "../../config/app-context.ts";
import { loadConfig } from "../../config/load.ts";
import { openOffer } from "./upstreams.ts";
import { withHelpedHeaders } from "./headers-helper.ts";

/** A server that says where it works, with what, and who it is. */
const SERVER = `
  const names = ["read", "write", "write_all"];
  const said = () => JSON.stringify({
    folder: process.argv[1], cwd: process.cwd(), pid: process.pid,
    one: process.env.ONE, two: process.env.TWO,
  });
  const answers = {
    initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} } }),
    "tools/list": () => ({ tools: names.map((name) => ({ name, inputSchema: { type: "object" } })) }),
    "tools/call": () => ({ content: [{ type: "text", text: said() }] }),
  };
  require("node:readline").createInterface(process.stdin).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const result = answers[method]?.();
    const error = { code: -32601, message: "Method not found" };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
  });`;

interface Said {
  readonly folder: string;
  readonly cwd: string;
  readonly pid: number;
  readonly one?: string;
  readonly two?: string;
}

async function withServer(
  settings: object,
  work: (
    opened: Awaited<ReturnType<typeof openOffer>>,
    call: (client: string, folder?: string) => Promise<Said>,
    home: string,
  ) => Promise<void>,
): Promise<void> {
  await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
  const server = { command: process.execPath, args: ["-e", SERVER, "${workspaceFolder}"] };
  const mcpServers = { s: { ...server, ...settings } };
  const file = join(home.path, "config.jsonc");
  await writeFile(file, JSON.stringify({ mcpServers, log: { level: "error" } }));
  await writeFile(join(home.path, "variables"), "ONE=from the file\n# no\nTWO='also'\n");
  const flags = { config: file, data: join(home.path, "data") };
  const { config } = await loadConfig({ cwd: "/", env: {}, flags, ignoreProject: true });
  await using opened = await openOffer(new AppContext(config));
  await opened.offer.known();
  await work(
    opened,
    async (client, folder) => {
      const context = Object.assign(new SampleContext({ name: client }), { folder });
      const { content, isError } = await opened.offer.tools.call("read", {}, context);
      if (isError === true) throw new Error(String(content[0]?.text));
      return JSON.parse(String(content[0]?.text)) as Said;
    },
    home.path,
  );
}

describe("settings that other programs have, too", { timeout: 600_000 }, () => {
  it("offer the tools that are switched on, and call no other", async () => {
    const plain = { args: ["-e", SERVER, "x"], include: ["write*", "read"], exclude: ["write_*"] };
    await withServer(plain, async ({ offer }) => {
      assert.deepEqual(
        offer.tools.list().map(({ definition }) => definition.name),
        ["read", "write"],
      );
      await assert.rejects(
        async () => offer.tools.call("write_all", {}, new SampleContext()),
        /Unknown tool: write_all/,
      );
    });
    await withServer({ args: ["-e", SERVER, "x"], include: [] }, async ({ offer }) => {
      assert.deepEqual(offer.tools.list(), []);
    });
  });

  it("give each project an instance, and none to callers without one", async () => {
    const settings = { cwd: "${workspaceFolder}" };
    await withServer(settings, async ({ offer }, call, home) => {
      // Its name is text, and no reference.
      const [one, two] = [join(home, "one"), join(home, "${HOME}")];
      await Promise.all([mkdir(one), mkdir(two)]);
      const first = await call("a", one);
      assert.deepEqual([first.folder, first.cwd], [one, one]);
      assert.equal((await call("a", one)).pid, first.pid);
      const other = await call("a", two);
      assert.deepEqual([other.folder, other.cwd], [two, two]);
      assert.notEqual((await call("b", one)).pid, first.pid, "clients share no instance");
      await assert.rejects(call("c"), /works in the caller's project \('\$\{workspaceFolder\}'/);
      offer.clients.gone("a");
      assert.notEqual((await call("a", one)).pid, first.pid);
    });
  });

  it("read the variables of a file, of which those in the configuration count first", async () => {
    const settings = { args: ["-e", SERVER, "x"], envFile: "./variables", env: { TWO: "mine" } };
    await withServer(settings, async (_, call) => {
      const { one, two } = await call("a");
      assert.deepEqual([one, two], ["from the file", "mine"]);
    });
    const missing = { args: ["-e", SERVER, "x"], envFile: "./none" };
    await withServer(missing, async (opened) => {
      await opened.started();
      assert.match(
        opened.status()[0]?.lastError ?? "",
        /'envFile' is missing: there is no file '.*none'/,
      );
    });
  });
});

describe("withHelpedHeaders()", () => {
  const url = "https://a.example/mcp";

  it("adds what the command prints, which counts before what is configured", async () => {
    const command = `printf '{"authorization":"Bearer %s","X":"%s"}' "$CLAUDE_CODE_MCP_SERVER_NAME" "$CLAUDE_CODE_MCP_SERVER_URL"`;
    const headers = { Authorization: "old", Y: "stays" };
    const { headersHelper, ...rest } = { headersHelper: command, url, headers };
    assert.deepEqual(await withHelpedHeaders({ ...rest, headersHelper }, "crm"), {
      url,
      headersHelper,
      headers: { Y: "stays", authorization: "Bearer crm", X: url },
    });
    assert.deepEqual(await withHelpedHeaders({ url }, "crm"), { url });
  });

  for (const [command, says] of [
    ["exit 3", /ended with 3/],
    ["echo secret-token", /printed something else than a JSON object of texts$/],
    [`echo '{"a":1}'`, /printed something else/],
    ["yes", /printed too much/],
  ] as const) {
    it(`says so where the command is \`${command}\``, async () => {
      await assert.rejects(withHelpedHeaders({ url, headersHelper: command }, "crm"), (error) => {
        assert.match(String(error), says);
        assert.doesNotMatch(String(error), /secret-token/);
        return true;
      });
    });
  }

  it("runs when a connection is made", async () => {
    const seen: unknown[] = [];
    const web = createServer(({ headers }, response) => {
      seen.push(headers.authorization);
      response.writeHead(500).end();
    }).listen(0, "127.0.0.1");
    await once(web, "listening");
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    const file = join(home.path, "config.jsonc");
    const { port } = web.address() as AddressInfo;
    const settings = {
      url: `http://127.0.0.1:${port}/mcp`,
      headersHelper: `echo '{"Authorization":"Bearer fresh"}'`,
    };
    await writeFile(file, JSON.stringify({ mcpServers: { s: settings }, log: { level: "error" } }));
    const flags = { config: file, data: join(home.path, "data") };
    const { config } = await loadConfig({ cwd: "/", env: {}, flags, ignoreProject: true });
    await using opened = await openOffer(new AppContext(config));
    await opened.started();
    web.close();
    assert.ok(seen.length > 0);
    assert.deepEqual([...new Set(seen)], ["Bearer fresh"]);
  });
});
