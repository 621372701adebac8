import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { BuiltInAgent, type BuiltInAgentOptions } from "../../src/agent/built-in-session.ts";
import type { ProviderType } from "../../src/agent/models/provider.ts";
import type { ModelSettings } from "../../src/config/schema/schema.gen.ts";
import { Models } from "../../src/agent/models/models.ts";
import { Log } from "../../src/base/log.ts";
import type {
  AgentOpenOptions,
  AgentSession,
  SessionUpdate,
  TurnEnd,
} from "../../src/session/agent.ts";
import { sessionServers } from "../../src/session/open/session-servers.ts";
import { runFromShell } from "../support/run-from-shell.ts";
import { initRepository } from "../support/stored-folder.ts";
import type { FakeLlm } from "./fake-llm.ts";
import { SampleTurn, type SampleTurnOptions } from "./sample-turn.ts";

export interface AgentRigOptions extends Partial<BuiltInAgentOptions> {
  readonly llm?: FakeLlm;
  /** Speaks to the fake as Anthropic's; else as any other. */
  readonly anthropic?: boolean;
  /** Speaks to the fake in this way, as a provider of the configuration. */
  readonly type?: ProviderType;
  /** The name of that provider's model. */
  readonly model?: string;
  /** Used instead of one of its own. */
  readonly agent?: BuiltInAgent;
  /** Starts the MCP servers of sessions for real. */
  readonly realServers?: boolean;
  readonly files?: Readonly<Record<string, string>>;
  /** Prices of models. */
  readonly cost?: NonNullable<ModelSettings["cost"]>;
}

export const KEY = "sk-the-key-that-nobody-may-see-0123456789";
export const QUICK = { attempts: 4, firstWait: 2, longestWait: 1_500, silence: 10_000 };

/** The built-in agent in a workspace of its own. */
export class AgentRig implements AsyncDisposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-agent-")));
  readonly cwd = join(this.folder, "work");
  readonly data = join(this.folder, "data");
  readonly log: string[] = [];
  /** What sessions said outside of turns. */
  readonly updates: SessionUpdate[] = [];
  readonly agent: BuiltInAgent;
  readonly #sessions: AgentSession[] = [];

  constructor(options: AgentRigOptions = {}) {
    const { llm, anthropic, type, model = "fake-1", realServers, ...rest } = options;
    const { files = {}, cost = {}, agent, ...parts } = rest;
    mkdirSync(this.cwd);
    for (const [name, text] of Object.entries(files)) this.write(name, text);
    const env: Record<string, string> = {};
    if (llm !== undefined && type === undefined) {
      env[anthropic === true ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY"] = KEY;
      env[anthropic === true ? "ANTHROPIC_BASE_URL" : "OPENAI_BASE_URL"] = `${llm.url}/v1`;
    }
    const log = new Log("debug", (line) => this.log.push(line));
    env.FAKE_KEY = KEY;
    const baseUrl = `${llm?.url}/${type === "google" ? "v1beta" : "v1"}`;
    const fake = { type: type ?? "openai", baseUrl, keyVariable: "FAKE_KEY", models: [model] };
    const settings =
      type === undefined
        ? { local: false, cost }
        : { local: false, cost, default: `fake/${model}`, providers: { fake } };
    const models = new Models({ find: (name) => env[name], settings, log, timeout: 2_000 });
    this.agent =
      agent ??
      new BuiltInAgent({
        models,
        data: this.data,
        ...(realServers === true ? { openServers: sessionServers({ data: this.data }) } : {}),
        ...parts,
        limits: { retry: QUICK, firstList: 2_000, ...parts.limits },
      });
  }

  async open(options: Partial<AgentOpenOptions> = {}): Promise<AgentSession> {
    const session = await this.agent.open({
      sessionId: "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
      cwd: this.cwd,
      additionalDirectories: [],
      owner: "",
      revoked: new AbortController().signal,
      mcpServers: [],
      history: undefined,
      chosen: {},
      memory: undefined,
      remember: async () => {},
      log: new Log("debug", (line) => this.log.push(line)),
      update: (update) => void this.updates.push(update),
      ...options,
    });
    this.#sessions.push(session);
    return session;
  }

  /** One turn of a new session. */
  async turn(options: SampleTurnOptions | string): Promise<{ turn: SampleTurn; end: TurnEnd }> {
    return this.turnOf(await this.open(), options);
  }

  async turnOf(
    session: AgentSession,
    options: SampleTurnOptions | string,
  ): Promise<{ turn: SampleTurn; end: TurnEnd }> {
    const turn = new SampleTurn(typeof options === "string" ? { prompt: options } : options);
    return { turn, end: await session.prompt(turn) };
  }

  write(name: string, text: string): void {
    const path = join(this.cwd, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  read(name: string): string {
    return readFileSync(join(this.cwd, name), "utf8");
  }

  git(...args: string[]): string {
    const who = [
      "-c",
      "user.name=T",
      "-c",
      "user.email=t@example.org",
      "-c",
      "init.defaultBranch=main",
    ];
    return runFromShell("git", [...who, ...args], { cwd: this.cwd });
  }

  /** Makes the workspace a repository with all that is in it. */
  commitAll(): void {
    initRepository(this.cwd);
    const settings = "[user]\nname = T\nemail = t@example.org\n[maintenance]\nauto = false\n";
    appendFileSync(join(this.cwd, ".git/config"), settings);
    this.git("add", "-A");
    this.git("commit", "-q", "-m", "start");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) await session[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
