// Long: a program for each question.
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, describe, it } from "node:test";

import { Log } from "../../src/base/log.ts";
import { busContext } from "../../src/plugin/bus-context.ts";
import { BusHome } from "../support/bus-home.ts";
import { BusInProcess } from "../support/bus-in-process.ts";
import {
  LegacyClient,
  ModernClient,
  ProjectHome,
  type ProjectServer,
  type RootedClient,
  type Roots,
  type Served,
  SseClient,
} from "../support/project-home.ts";
import { until } from "../support/until.ts";

type Era = "legacy" | "modern";

async function client(server: Served, era: Era, roots: Roots): Promise<RootedClient> {
  return era === "legacy" ? LegacyClient.begin(server, roots) : new ModernClient(server, roots);
}

const ERAS: readonly Era[] = ["legacy", "modern"];
const SWITCH = ["juggler_switch", { identity: "work" }] as const;
/** How a refusal says what to do. */
const HOW = /Give its absolute path as 'repoPath', or configure one folder as the client's root/;

describe("clients of one `trunkline serve`", { timeout: 600_000 }, () => {
  // For the tests that need no configuration of their own. Those that leave comments come last.
  let home: ProjectHome;
  let own: string;
  let server: ProjectServer;
  let folders = 0;
  const newFolder = (isRepository = true): string =>
    home.folder(`folder${++folders}`, isRepository);
  before(async () => {
    home = new ProjectHome();
    own = home.folder("own");
    server = await home.serve(own);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  for (const [first, second] of [
    ["legacy", "legacy"],
    ["modern", "modern"],
    ["legacy", "modern"],
  ] as const) {
    it(`each work in their own root, and never in the server's folder (${first}, ${second})`, async () => {
      const [b, c] = [newFolder(), newFolder()];
      const inB = await client(server, first, [b]);
      const inC = await client(server, second, [c]);
      const told = await Promise.all([inB.call("juggler_status"), inC.call("juggler_status")]);
      assert.match(told[0], new RegExp(`^Repository: ${b}$`, "m"));
      assert.match(told[1], new RegExp(`^Repository: ${c}$`, "m"));
      assert.match(
        await inC.call(...SWITCH),
        new RegExp(`^Switched to identity: work\nRepository: ${c}\n`),
      );
      assert.deepEqual(
        [own, b, c].map((folder) => home.emailOf(folder)),
        [undefined, undefined, "ada@acme.test"],
      );
      assert.match(await inB.call(...SWITCH), new RegExp(`\nRepository: ${b}\n`));
      assert.equal(home.emailOf(own), undefined);
      assert.equal(inB.asked, first === "legacy" ? 1 : 2);
    });
  }

  for (const era of ERAS) {
    it(`without roots have to name a repository (${era})`, async () => {
      const b = newFolder();
      for (const roots of ["unable", []] as const) {
        const lost = await client(server, era, roots);
        for (const tool of ["juggler_switch", "juggler_status", "juggler_detect_identity"]) {
          assert.match(await lost.call(tool, { identity: "work" }), HOW, tool);
        }
        assert.match(await lost.call("juggler_switch", { identity: "work", repoPath: "." }), HOW);
        assert.match(await lost.call("juggler_gpg_status"), /or name the identity in 'identity'/);
        assert.match(await lost.call("review_claim"), /as 'repository', or give the 'id'/);
        assert.match(await lost.call("review_wait", { timeoutSeconds: 0 }), /as 'repository'/);
        // What reads comments is not about one repository.
        assert.match(await lost.call("check_lazygit_messages"), /^No new messages/);
        assert.match(await lost.call("review_list"), /^No threads found/);
        assert.match(await lost.call("juggler_list_identities"), /- work/);
      }
      const lost = await client(server, era, "unable");
      const named = await lost.call("juggler_switch", { identity: "work", repoPath: b });
      assert.match(named, new RegExp(`\nRepository: ${b}\n`));
      assert.deepEqual([home.emailOf(own), home.emailOf(b)], [undefined, "ada@acme.test"]);
    });

    it(`with several repositories have to say which, and get a list of them (${era})`, async () => {
      const [b, c] = [newFolder(), newFolder()];
      const plain = newFolder(false);
      const both = await client(server, era, [b, c, plain]);
      const told = await both.call(...SWITCH);
      assert(told.includes(`the client has several roots: ${b}, ${c}. Give its`), told);
      assert.match(
        await both.call("juggler_switch", { identity: "work", repoPath: c }),
        new RegExp(`\nRepository: ${c}\n`),
      );
      const one = await client(server, era, [plain, b]);
      assert.match(await one.call(...SWITCH), new RegExp(`\nRepository: ${b}\n`));
      assert.equal(home.emailOf(own), undefined);
    });
  }

  it("that never answer with their roots delay nobody else", async () => {
    const limits = { messages: { "roots/list": { timeout: 5_000 } } };
    using home = new ProjectHome({ limits });
    const [own, b] = [home.folder("own"), home.folder("b")];
    await using server = await home.serve(own);
    for (const era of ERAS) {
      const silent = await client(server, era, "silent");
      const waiting = silent.call(...SWITCH);
      const others = await Promise.all(
        ERAS.map(async (each) => (await client(server, each, [b])).call("juggler_status")),
      );
      for (const told of others) assert.match(told, new RegExp(`^Repository: ${b}$`, "m"));
      assert.match(await waiting, era === "legacy" ? HOW : /does not come back/);
      if (era === "legacy") assert.match(await silent.call(...SWITCH), HOW);
      assert.equal(silent.asked, 1);
      assert.equal(home.emailOf(own), undefined);
    }
  });

  it("work in their own root also over /sse", async () => {
    const b = newFolder();
    await using old = await SseClient.begin(server, [b]);
    assert.match(await old.call(...SWITCH), new RegExp(`\nRepository: ${b}\n`));
    await using lost = await SseClient.begin(server, "unable");
    assert.match(await lost.call(...SWITCH), HOW);
    assert.equal(home.emailOf(own), undefined);
  });

  it("can announce other roots", async () => {
    const [b, c] = [newFolder(), newFolder()];
    const editor = await LegacyClient.begin(server, [b]);
    assert.match(await editor.call("juggler_status"), new RegExp(`^Repository: ${b}$`, "m"));
    await editor.move(c);
    assert.match(await editor.call(...SWITCH), new RegExp(`\nRepository: ${c}\n`));
    assert.equal(home.emailOf(b), undefined);
  });

  it("get the comments of their own repository, and claim no others", async () => {
    const [b, c] = [newFolder(), newFolder()];
    const id = await home.comment(b, "in b");
    const silent = new ModernClient(server, "silent");
    assert.match(await silent.call("check_lazygit_messages"), /does not come back/);
    for (const era of ERAS) {
      const inC = await client(server, era, [c]);
      assert.match(await inC.call("check_lazygit_messages"), /^No new messages/);
      assert.match(await inC.call("review_list"), /^No threads found/);
      const none = `No unclaimed thread.\nRepository: ${c}`;
      assert.equal(await inC.call("review_claim"), none);
      const inB = await client(server, era, [b]);
      assert.match(await inB.call("check_lazygit_messages"), /^Comment: in b$/m);
      assert.match(await inB.call("review_list"), new RegExp(`^${id} [^]*\nRepository: ${b}$`));
    }
    const inB = await client(server, "modern", [b]);
    assert.match(await inB.call("review_claim"), new RegExp(`^${id} [^]*\nRepository: ${b}$`));
    const answer = await inB.call("review_reply", { id, text: "so" });
    assert.equal(answer, `${id} is answered. The reviewer will see it.\nRepository: ${b}`);
  });

  it("cannot work in a folder that their token does not allow", async () => {
    const [b, c] = [newFolder(), newFolder()];
    const id = await home.comment(c, "in c");
    const scopes = ["--scope", "tools", "--scope", "review"];
    const said = await home.prepare(["token", "create", "laptop", ...scopes, "--folder", b], own);
    const [token = ""] = /\btlk_\S+/.exec(said) ?? [];
    for (const era of ERAS) {
      const laptop = server.as(token);
      const inB = await client(laptop, era, [b]);
      assert.match(await inB.call("juggler_status"), new RegExp(`^Repository: ${b}$`, "m"));
      const refused = new RegExp(`^'laptop' may not use the folder '${c}'`);
      const named = { identity: "work", repoPath: c };
      assert.match(await inB.call("juggler_switch", named), refused);
      assert.match(await inB.call("review_reply", { id, text: "so" }), refused);
      assert.match(await (await client(laptop, era, [c])).call(...SWITCH), refused);
      const lost = await client(laptop, era, "unable");
      assert.match(await lost.call("review_list"), /^The call does not say which folder/);
      assert.match(await lost.call("check_lazygit_messages"), /^The call does not say which/);
    }
    assert.equal(home.emailOf(c), undefined);
  });
});

describe("clients, as the policy has it,", { timeout: 600_000 }, () => {
  const rules = [
    { tool: "review_*", project: "b", decision: "deny" },
    { tool: "juggler_*", project: "link", decision: "deny" },
  ];
  let home: ProjectHome;
  let server: ProjectServer;
  let c: string;
  before(async () => {
    home = new ProjectHome({ policy: { tools: { rules } } });
    c = home.folder("c");
    server = await home.serve(home.folder("own"));
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  it("are subject to the rules for the repository of a thread, wherever they are", async () => {
    const id = await home.comment(home.folder("b"), "in b");
    for (const era of ERAS) {
      const inC = await client(server, era, [c]);
      for (const [tool, more] of [
        ["review_reply", { text: "so" }],
        ["review_claim", { repository: c }],
        ["review_list", {}],
        ["review_propose", { diff: "x" }],
      ] as const) {
        assert.match(await inC.call(tool, { id, ...more }), /^The policy does not let/, tool);
      }
      assert.match(await inC.call("review_reply", { id: "rnone", text: "so" }), /rnone/);
    }
  });

  it("are subject to the rules for a project, also through a link, and recorded with it", async () => {
    const linked = home.folder("linked");
    symlinkSync(linked, join(home.path, "link"));
    for (const era of ERAS) {
      const inside = await client(server, era, [linked]);
      assert.match(await inside.call(...SWITCH), /^The policy does not let/);
      assert.match(await inside.call("juggler_list_identities"), /^The policy does not let/);
      const inC = await client(server, era, [c]);
      assert.match(await inC.call("juggler_list_identities"), /- work/);
      const repoPath = join(home.path, "link");
      const sly = await inC.call("juggler_switch", { identity: "work", repoPath });
      assert.match(sly, /^The policy does not let/);
    }
    assert.equal(home.emailOf(linked), undefined);
    await until(() => home.record("juggler_switch").length >= 4);
    const entries = home.record("juggler_switch");
    assert.deepEqual(
      entries.map(({ project, outcome }) => [project, outcome]),
      Array.from({ length: 4 }, () => [linked, "refused"]),
    );
    const clients = new Set(entries.map((entry) => entry.client));
    assert.equal(clients.size, 3, "each session is a client, and all requests of one name are");
  });
});

describe("plugins", { timeout: 600_000 }, () => {
  const command = process.execPath;
  const args = [join(import.meta.dirname, "../support/project-plugin.ts")];
  const plugins = { "tools.where": { command, args } };
  const rules = [
    { tool: "where", project: "denied", decision: "deny" },
    { tool: "juggler_*", caller: "bus", project: "b", decision: "deny" },
  ];
  let home: ProjectHome;
  let own: string;
  let server: ProjectServer;
  before(async () => {
    const policy = { tools: { rules } };
    home = new ProjectHome({ bus: { listen: "localhost:0", plugins }, policy });
    own = home.folder("own");
    server = await home.serve(own);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  it("get the project of their caller, and work only there", async () => {
    const denied = home.folder("denied");
    for (const era of ERAS) {
      const b = home.folder(era);
      const inB = await client(server, era, [b]);
      await inB.untilOffered("act");
      assert.equal(await inB.call("where"), b);
      assert.equal(await inB.call("where_in_pieces"), b);
      assert.match(await inB.call("act"), new RegExp(`\nRepository: ${b}\n`));
      const lost = await client(server, era, "unable");
      assert.equal(await lost.call("where"), "nowhere");
      assert.match(await lost.call("act"), HOW);
      const refused = await client(server, era, [denied]);
      assert.match(await refused.call("where"), /^The policy does not let/);
      assert.deepEqual([home.emailOf(own), home.emailOf(b)], [undefined, "ada@acme.test"]);
    }
  });

  it("get the project of their caller also if they stream", async () => {
    await using home = new BusHome();
    const entry = { id: "tools.where", binary: command, args };
    await using bus = await BusInProcess.open(home, [entry]);
    await bus.until("tools.where", ({ state }) => state === "up");
    const pieces: string[] = [];
    const context = busContext(
      { name: "where_in_pieces", project: home.path },
      {
        name: "tester",
        signal: new AbortController().signal,
        log: new Log("error", () => {}),
        piece: async (data) => void pieces.push(Buffer.from(data).toString()),
      },
    );
    await bus.offer.tools.call("where_in_pieces", {}, context);
    assert.deepEqual(pieces, [home.path]);
  });

  it("are subject to the rules for the project that they are called for", async () => {
    const [b, c] = [home.folder("b"), home.folder("c")];
    const inB = await client(server, "legacy", [b]);
    await inB.untilOffered("act");
    assert.match(await inB.call("act"), /The policy does not let tools\.where call/);
    const inC = await client(server, "legacy", [c]);
    assert.match(await inC.call("act"), new RegExp(`\nRepository: ${c}\n`));
    assert.equal(home.emailOf(b), undefined);
    const recorded = () =>
      home.record("juggler_switch").filter(({ project }) => project === b || project === c);
    await until(() => recorded().length >= 2);
    assert.deepEqual(
      recorded().map((entry) => [entry.door, entry.principal, entry.project]),
      [b, c].map((folder) => ["bus", "bus tools.where", folder]),
    );
  });
});

describe("a client that starts `trunkline mcp`", { timeout: 600_000 }, () => {
  const initialize = (capabilities: object): object => ({
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities,
      clientInfo: { name: "assistant", version: "1" },
    },
  });
  const call = (id: number): object => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "juggler_switch", arguments: { identity: "work" } },
  });

  it("works in the folder in which it starts it", async () => {
    using home = new ProjectHome();
    const own = home.folder("own");
    await using program = home.start(["mcp"], own);
    program.write(initialize({}), call(1));
    const answers = await program.answers(2);
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
    assert(JSON.stringify(answers[1]).includes(`Repository: ${own}`));
    assert.equal(home.emailOf(own), "ada@acme.test");
    const [entry] = home.record("juggler_switch");
    assert.equal(entry?.project, own);
    assert.equal(entry?.principal, undefined);
  });

  it("works in its root if it has one", async () => {
    using home = new ProjectHome();
    const [own, b] = [home.folder("own"), home.folder("b")];
    await using program = home.start(["mcp"], own);
    program.write(initialize({ roots: {} }), call(1));
    const [, asked] = await program.answers(2);
    assert.equal(asked?.method, "roots/list");
    const roots = [{ uri: pathToFileURL(b).href }];
    program.write({ jsonrpc: "2.0", id: asked?.id, result: { roots } });
    const answers = await program.answers(3);
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
    assert(JSON.stringify(answers[2]).includes(`Repository: ${b}`));
    assert.deepEqual([home.emailOf(own), home.emailOf(b)], [undefined, "ada@acme.test"]);
  });
});

describe("a person", { timeout: 600_000 }, () => {
  it("calls tools in the current folder", async () => {
    using home = new ProjectHome();
    const own = home.folder("own");
    const said = await home.run(
      ["tool", "call", "juggler_switch", "--args", '{"identity":"work"}'],
      own,
    );
    assert.match(said, new RegExp(`\nRepository: ${own}\n`));
    const [entry] = home.record("juggler_switch");
    assert.deepEqual([entry?.door, entry?.project], ["cli", own]);
  });
});
