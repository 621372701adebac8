import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { OWNER } from "../../src/base/principal.ts";
import { runAgent, type RunAgentOptions } from "../../src/run/run-agent.ts";
import type { Runs, RunsOptions } from "../../src/run/runs.ts";
import type {
  Agent,
  AgentOpenOptions,
  SessionUpdate,
  Turn,
  TurnEnd,
} from "../../src/session/agent.ts";
import { SampleRuns } from "./sample-runs.ts";

type How = Partial<RunAgentOptions> & Pick<Partial<AgentOpenOptions>, "history">;

/** Work of an agent. */
export const addFile = async (cwd: string): Promise<void> =>
  writeFileSync(join(cwd, "new.txt"), "new\n");

/** Runs of a sample repository, and sessions in them whose agent is a function. */
export class RunAgentRig implements AsyncDisposable {
  readonly #sample: SampleRuns;
  readonly updates: SessionUpdate[] = [];
  /** What the last session has stored for the next. */
  memory: unknown;

  private constructor(sample: SampleRuns) {
    this.#sample = sample;
  }

  static async open(options: Partial<RunsOptions> = {}): Promise<RunAgentRig> {
    return new RunAgentRig(await SampleRuns.open(options));
  }

  get folder(): string {
    return this.#sample.folder;
  }

  get remote(): string {
    return this.#sample.remote;
  }

  get revision(): string {
    return this.#sample.revision;
  }

  get runs(): Runs {
    return this.#sample.runs;
  }

  get meta(): object {
    return this.#sample.meta;
  }

  /** Another machine on the same repository. */
  another(options: Partial<RunsOptions>, name: string): Promise<Runs> {
    return this.#sample.another(options, name);
  }

  /** Opens a session whose agent does `work` in each turn. */
  async session(
    work: (cwd: string, turn: Turn) => Promise<TurnEnd | void>,
    plan = this.runs.plan(this.meta),
    mcpServers: AgentOpenOptions["mcpServers"] = [],
    { history, ...how }: How & { readonly isReady?: () => Promise<void> } = {},
  ) {
    const inner: Agent = {
      name: "scripted",
      open: async ({ cwd, mcpServers: given }) => ({
        settings: {
          _meta: { given: given.map(({ name }) => name) },
          modes: { currentModeId: "build", availableModes: [] },
        },
        prompt: async (turn) => {
          return (await work(cwd, turn)) ?? { stopReason: "end_turn" };
        },
        [Symbol.asyncDispose]: async () => {},
      }),
    };
    const agent = runAgent({
      runs: this.runs,
      inner: async () => {
        await how.isReady?.();
        return inner;
      },
      name: "scripted",
      plan,
      ...{ answerWithin: 60_000, budgetGrace: 50, ...how },
    });
    return await agent.open({
      sessionId: "0d3adbee-0000-4000-8000-000000000001",
      cwd: "",
      additionalDirectories: [],
      mcpServers,
      history,
      memory: this.memory,
      remember: async (memory: unknown) => void (this.memory = memory),
      update: (update: SessionUpdate) => void this.updates.push(update),
    } as unknown as AgentOpenOptions);
  }

  turn(text: string, signal = new AbortController().signal): Turn {
    return {
      id: "turn",
      principal: OWNER,
      prompt: [{ type: "text", text }],
      signal,
      update: async (update) => void this.updates.push(update),
      requestPermission: async () => ({ outcome: "cancelled" }),
      progressed: () => {},
      client: {
        fs: { readTextFile: async () => "unreachable" },
        notices: false,
        compaction: false,
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sample[Symbol.asyncDispose]();
  }
}
