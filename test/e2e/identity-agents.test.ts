// Long: agents that commit by git.
import assert from "node:assert/strict";
import { realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../samples/sample-repository.ts";
import { AgentEditor } from "../agent/agent-editor.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { runTwoAgents } from "../support/git-rig/two-agents.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const COMMIT = "git commit -q --allow-empty -m change";
const ENVIRONMENT = "git -c alias.variables=!env variables";
const AUTHOR = "git log -1 --format=%ae,%ce";

interface Answer {
  readonly id?: number;
  readonly result?: { readonly sessionId: string };
  readonly error?: { readonly message: string };
  readonly params?: {
    readonly sessionId: string;
    readonly update: { readonly content?: { readonly text: string } };
  };
}

/** Somebody else's agent in `trunkline acp`, and two repositories that are for two identities. */
class Agents implements AsyncDisposable {
  readonly works = new SampleRepository();
  readonly #program: Program;
  #lastId = 0;

  constructor(agent: object = {}) {
    const { home } = this.works;
    const one = { provider: "github", user: "ada" };
    const tokenSource = { kind: "environment", variable: "WORK_TOKEN" };
    const identities = {
      work: { ...one, email: "ada@acme.test", organizations: ["acme"], tokenSource },
      home: { ...one, email: "ada@home.test", match: [{ path: "~/mine" }] },
    };
    const other = { command: process.execPath, args: [AGENT], ...agent };
    const config = join(home, "config.jsonc");
    writeFileSync(config, JSON.stringify({ identities, agents: { other } }));
    this.works.run("remote", "add", "origin", "git@github.com:acme/app.git");
    this.works.run("init", "-q", join(home, "mine"));
    const args = ["acp", "--agent", "other", "--config", config];
    this.#program = new Program(args, {
      env: { HOME: home, GIT_CONFIG_NOSYSTEM: "1", WORK_TOKEN: "t0k3n-of-work" },
    });
  }

  async ask(method: string, params: object): Promise<Answer> {
    const id = ++this.#lastId;
    this.#program.write({ jsonrpc: "2.0", id, method, params });
    const isIt = (line: string): boolean => (JSON.parse(line) as Answer).id === id;
    await this.#program.until(({ lines }) => lines.some(isIt));
    return JSON.parse(this.#program.lines.find(isIt) ?? "") as Answer;
  }

  /** Begins in a folder of the home. Throws what the answer is, where it is no session. */
  async begin(folder: string): Promise<(text: string) => Promise<string>> {
    const cwd = join(this.works.home, folder);
    const { result, error } = await this.ask("session/new", { cwd, mcpServers: [] });
    if (result === undefined) throw new Error(error?.message);
    const { sessionId } = result;
    return async (text) => {
      const before = this.#program.lines.length;
      await this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
      return this.#program.lines
        .slice(before)
        .map((line) => (JSON.parse(line) as Answer).params)
        .filter((params) => params?.sessionId === sessionId)
        .map((params) => params?.update.content?.text ?? "")
        .join("")
        .trim();
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#program.child.stdin.end();
    await this.#program.exit;
    await this.#program[Symbol.asyncDispose]();
    this.works[Symbol.dispose]();
  }
}

describe("an agent that Trunkline starts", { timeout: 600_000 }, () => {
  it("acts as the identity of the session's folder, and changes no file", async () => {
    await using agents = new Agents();
    await agents.ask("initialize", { protocolVersion: 1 });
    const before = agents.works.read("app/.git/config");
    const [work, home] = await Promise.all([agents.begin("app"), agents.begin("mine")]);
    await Promise.all([work(COMMIT), home(COMMIT)]);
    const authors = await Promise.all([work(AUTHOR), home(AUTHOR)]);
    assert.deepEqual(authors, ["ada@acme.test,ada@acme.test", "ada@home.test,ada@home.test"]);
    assert.deepEqual(agents.works.read("app/.git/config"), before);
    const variables = await Promise.all([work(ENVIRONMENT), home(ENVIRONMENT)]);
    const tokens = variables.map((text) => text.match(/^GH_(?:HOST|TOKEN)=.*$/gm)?.toSorted());
    assert.deepEqual(tokens, [["GH_HOST=github.com", "GH_TOKEN=t0k3n-of-work"], undefined]);
  });

  it("acts as the identity that its configuration names, wherever it is", async () => {
    await using agents = new Agents({ identity: "home" });
    await agents.ask("initialize", { protocolVersion: 1 });
    const say = await agents.begin("app");
    await say(COMMIT);
    assert.equal(await say(AUTHOR), "ada@home.test,ada@home.test");
  });

  it("is not started if the named identity does not exist", async () => {
    await using agents = new Agents({ identity: "hoem" });
    await agents.ask("initialize", { protocolVersion: 1 });
    await assert.rejects(agents.begin("app"), /no identity 'hoem'\. Did you mean 'home'\?/);
  });
});

describe("the built-in agent", { timeout: 600_000 }, () => {
  it("runs commands and commits as the identity of the folder", async () => {
    const match = [{ path: realpathSync(tmpdir()) }];
    const work = { provider: "github", user: "ada", email: "ada@acme.test", match };
    const scripts = { test: "git var GIT_AUTHOR_IDENT && git var GIT_COMMITTER_IDENT" };
    const files = { "package.json": JSON.stringify({ scripts }) };
    await using editor = await AgentEditor.open({ files, config: { identities: { work } } });
    editor.commitAll();
    const { text } = await editor.say(editor.id, "/test");
    assert.equal(text.match(/^ada <ada@acme\.test>/gm)?.length, 2, text);
    editor.write("new.txt", "");
    await editor.say(editor.id, "/commit Add it");
    assert.equal(editor.git("log", "-1", "--format=%ae %ce"), "ada@acme.test ada@acme.test\n");
  });
});

describe("two agents with two identities", { timeout: 600_000, skip: WITHOUT_SSHD }, () => {
  it("commit and push at the same moment from one clone, each as itself", async () => {
    // A hundred times in `npm run test:interop`.
    await runTwoAgents(1);
  });
});
