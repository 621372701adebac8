import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AcpSocket } from "../support/acp-socket.ts";
import { bearer, type GuardedGateway, GuardedHome, PING } from "../support/guarded-gateway.ts";
import { covers } from "../support/requirement.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const NOTES = join(import.meta.dirname, "../support/notes-server.mjs");

type Headers = Readonly<Record<string, string>>;

/** A home whose tokens are made as they are needed. */
class Home extends GuardedHome {
  readonly #names = new Map<Headers, string>();

  async token(...options: string[]): Promise<Headers> {
    const name = `t${this.#names.size + 1}`;
    const headers = bearer(await this.createToken(name, ...options));
    this.#names.set(headers, name);
    return headers;
  }

  /** What a token lacks, as a refusal says it. */
  lacks(token: Headers, scope: string): RegExp {
    return new RegExp(`'${scope}', which '${this.nameOf(token)}' lacks.*--scope ${scope}`);
  }

  nameOf(token: Headers): string {
    return this.#names.get(token) ?? "";
  }
}

const OTHER = { command: process.execPath, args: [AGENT] };
const CONFIG = {
  mcpServers: { notes: { command: process.execPath, args: [NOTES] } },
  agents: { other: OTHER, third: OTHER },
};

async function statusOf(gateway: GuardedGateway, path: string, known: Headers): Promise<number> {
  return (await gateway.get(path, { accept: "application/json", ...known })).status;
}

/** Asks once over MCP, in a session of its own. */
async function ask(
  gateway: GuardedGateway,
  known: Headers,
  method: string,
  params: object = {},
): Promise<Record<string, never>> {
  const session = await gateway.begin(known);
  const answer = await gateway.post({ ...PING, method, params }, { ...known, ...session });
  return JSON.parse(answer.body) as Record<string, never>;
}

async function toolsOf(gateway: GuardedGateway, known: Headers): Promise<string[]> {
  const { result } = await ask(gateway, known, "tools/list");
  const { tools } = result as unknown as { tools: { name: string }[] };
  return tools.map(({ name }) => name);
}

async function called(gateway: GuardedGateway, known: Headers, name: string): Promise<string> {
  const { result } = await ask(gateway, known, "tools/call", { name, arguments: {} });
  return (result as unknown as { content: [{ text: string }] }).content[0].text;
}

describe("a token", { timeout: 600_000 }, () => {
  // Tokens are made while it runs.
  let home: Home;
  let gateway: GuardedGateway;
  before(async () => {
    home = new Home(CONFIG);
    gateway = await home.serve();
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  describe("the scopes of a token", () => {
    it("default to listing and calling tools", async () => {
      const least = await home.token();
      const tools = await toolsOf(gateway, least);
      assert.ok(tools.includes("juggler_status"));
      assert.ok(!tools.some((name) => name.startsWith("review_")), tools.join());
      assert.ok((await toolsOf(gateway, gateway.owner)).includes("review_list"));
      const refused = await gateway.get("/metrics", least);
      assert.equal(refused.status, 403);
      assert.match(refused.body, home.lacks(least, "dashboard"));
      assert.match(refused.body, /token create NAME --scope dashboard/);
      assert.match(
        String(refused.headers["www-authenticate"]),
        /error="insufficient_scope", scope="dashboard"/,
      );
      assert.equal(await statusOf(gateway, "/", least), 403);
      assert.equal(await statusOf(gateway, "/acp", least), 403);
      await assert.rejects(AcpSocket.connect(gateway.acp, least), /403/);
    });

    it("each allow what they are for, and nothing else", async () => {
      covers("mcp.authorization.scope");
      const review = await home.token("--scope", "review");
      const dashboard = await home.token("--scope", "dashboard");
      const sessions = await home.token("--scope", "sessions");
      const reviewTools = await toolsOf(gateway, review);
      assert.ok(reviewTools.includes("check_lazygit_messages"));
      assert.ok(
        reviewTools.every((name) => name.startsWith("review_") || name.startsWith("check_")),
        reviewTools.join(),
      );
      const words = await called(gateway, review, "juggler_status");
      assert.match(words, home.lacks(review, "tools"));
      assert.match(words, /'juggler_status' needs the scope 'tools'/);
      const { result } = await ask(gateway, review, "resources/list");
      const { resources } = result as unknown as { resources: { uri: string }[] };
      assert.deepEqual(
        resources.map(({ uri }) => uri),
        ["lazygit://messages"],
      );
      assert.equal(await statusOf(gateway, "/metrics", dashboard), 200);
      assert.equal(await statusOf(gateway, "/", dashboard), 200);
      for (const known of [dashboard, sessions]) {
        assert.equal((await gateway.post(PING, known)).status, 403);
        assert.equal(await statusOf(gateway, "/sse", known), 403);
      }
      using client = await AcpSocket.connect(gateway.acp, sessions);
      await client.ask("session/new", { cwd: home.path, mcpServers: [] });
    });

    it("allow naming commands to start only with `programs`", async () => {
      const without = await home.token("--scope", "sessions");
      const allowed = await home.token("--scope", "sessions", "--scope", "programs");
      const mcpServers = [{ name: "notes", command: process.execPath, args: [NOTES], env: [] }];
      const place = { cwd: home.path, mcpServers };
      using poor = await AcpSocket.connect(gateway.acp, without);
      const refused = await poor.answer("session/new", place);
      assert.equal(refused.error?.code, -31701);
      assert.match(refused.error?.data?.details, home.lacks(without, "programs"));
      // As the message specification has it, too.
      const local = [{ name: "notes", type: "local", command: [process.execPath, NOTES] }];
      assert.equal(
        (await poor.answer("session/new", { ...place, mcpServers: local })).error?.code,
        -31701,
      );
      using rich = await AcpSocket.connect(gateway.acp, allowed);
      await rich.ask("session/new", place);
    });

    it("allow only admins to see the sessions of others", async () => {
      using home = new Home();
      const ann = await home.token("--scope", "sessions");
      const bob = await home.token("--scope", "sessions");
      const admin = await home.token("--scope", "sessions", "--scope", "admin");
      await using gateway = await home.serve();
      using first = await AcpSocket.connect(gateway.acp, ann);
      await first.ask("session/new", { cwd: home.path, mcpServers: [] });
      for (const [known, count] of [
        [ann, 1],
        [bob, 0],
        [admin, 1],
        [gateway.owner, 1],
      ] as const) {
        using client = await AcpSocket.connect(gateway.acp, known);
        assert.equal((await client.ask("session/list", {})).sessions.length, count);
      }
    });
  });

  describe("the limits of a token", () => {
    it("restrict the tools that it lists and calls, and everything beside them", async () => {
      const scopes = ["--scope", "tools", "--scope", "review"];
      const limited = await home.token(
        ...scopes,
        "--tool",
        "juggler_list*",
        "--tool",
        "review_list",
      );
      assert.deepEqual((await toolsOf(gateway, limited)).toSorted(), [
        "juggler_list_identities",
        "review_list",
      ]);
      const words = await called(gateway, limited, "juggler_status");
      assert.match(words, /^'t\d+' may not use the tool 'juggler_status'.*--tool juggler_status/);
      assert.ok(words.startsWith(`'${home.nameOf(limited)}' `), words);
      for (const [method, list] of [
        ["resources/list", "resources"],
        ["resources/templates/list", "resourceTemplates"],
        ["prompts/list", "prompts"],
      ] as const) {
        const { result } = await ask(gateway, limited, method);
        assert.deepEqual((result as unknown as Record<string, unknown[]>)[list], [], method);
      }
      const uri = "lazygit://messages";
      const read = await ask(gateway, limited, "resources/read", { uri });
      assert.match(JSON.stringify(read), /Resource not found/);
      assert.match(
        JSON.stringify(await ask(gateway, limited, "resources/subscribe", { uri })),
        /may not/,
      );
    });

    it("restrict the agents, folders and repositories of its sessions", async () => {
      const [inside, outside] = [join(home.path, "inside"), join(home.path, "outside")];
      for (const [folder, address] of [
        [inside, "https://git.example.com/team/a.git"],
        [outside, "https://git.example.com/other/b.git"],
      ] as const) {
        mkdirSync(folder);
        execFileSync("git", ["init", "--quiet"], { cwd: folder });
        execFileSync("git", ["remote", "add", "origin", address], { cwd: folder });
      }
      symlinkSync(outside, join(inside, "link"));
      const agents = await home.token("--scope", "sessions", "--agent", "oth*");
      const folders = await home.token("--scope", "sessions", "--folder", inside);
      const repo = "https://git.example.com/team/*";
      const repositories = await home.token("--scope", "sessions", "--repo", repo);
      const begin = async (known: Headers, params: object): Promise<string> => {
        using client = await AcpSocket.connect(gateway.acp, known);
        const { result, error } = await client.answer("session/new", { mcpServers: [], ...params });
        return result === undefined ? String(error?.data?.details) : "begun";
      };
      const agent = (name: string) => ({ cwd: inside, _meta: { trunkline: { agent: name } } });
      assert.equal(await begin(agents, agent("other")), "begun");
      assert.match(
        await begin(agents, agent("third")),
        /may not use the agent 'third'.*--agent third/,
      );
      assert.match(await begin(agents, { cwd: inside }), /may not use the agent 'trunkline'/);
      assert.equal(await begin(folders, { cwd: inside }), "begun");
      for (const place of [
        { cwd: outside },
        { cwd: join(inside, "link") },
        { cwd: join(inside, "../outside") },
        { cwd: inside, additionalDirectories: [outside] },
      ]) {
        assert.match(await begin(folders, place), /may not use the folder/, JSON.stringify(place));
      }
      assert.equal(await begin(repositories, { cwd: inside }), "begun");
      assert.match(
        await begin(repositories, { cwd: outside }),
        /may not use the repository 'https:/,
      );
      assert.match(
        await begin(repositories, { cwd: home.path }),
        /in no repository with an address/,
      );
    });
  });
});
