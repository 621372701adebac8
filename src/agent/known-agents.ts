import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { attempt } from "../base/attempt.ts";
import type { InitializeResult } from "../protocol/acp/schema.gen.ts";
import type { SessionSettings } from "../session/agent.ts";

/** What starts an agent. */
interface AgentProgram {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
}

/** What is kept of an agent, each in a file of its own. */
interface AgentRecord {
  readonly hello: InitializeResult;
  readonly settings: RecordedSettings;
}

type RecordedSettings = Pick<SessionSettings, "modes" | "models" | "configOptions">;

/** Characters of settings that are kept: some agents offer hundreds of models. */
const LONGEST_SETTINGS = 256 * 1024;

/** The built-in agent is no program. */
function programOf(agent: AgentProgram | undefined): string {
  return agent === undefined ? "" : JSON.stringify([agent.command, ...(agent.args ?? [])]);
}

/**
 * What agents answered to `initialize` when they were last started, and the settings that their last session
 * offered. Editors and the dashboard ask before an agent is chosen, and no agent is started for that.
 */
export class KnownAgents {
  readonly #folder: string;

  constructor(data: string) {
    this.#folder = join(data, "agents");
  }

  /**
   * Undefined if another program had the name then. Synchronous, since editors wait for the answer to
   * `initialize`.
   */
  find(name: string, agent: AgentProgram): InitializeResult | undefined {
    return this.#read("hello", name, agent);
  }

  /** What a session of the agent last offered to choose from. */
  findSettings(name: string, agent: AgentProgram | undefined): RecordedSettings | undefined {
    return this.#read("settings", name, agent);
  }

  async keep(name: string, agent: AgentProgram, hello: InitializeResult): Promise<void> {
    await this.#write("hello", name, JSON.stringify({ program: programOf(agent), hello }));
  }

  async keepSettings(
    name: string,
    agent: AgentProgram | undefined,
    { modes, models, configOptions }: SessionSettings,
  ): Promise<void> {
    const settings = { modes, models, configOptions };
    const text = JSON.stringify({ program: programOf(agent), settings });
    if (text.length <= LONGEST_SETTINGS) await this.#write("settings", name, text);
  }

  #read<What extends keyof AgentRecord>(
    what: What,
    name: string,
    agent: AgentProgram | undefined,
  ): AgentRecord[What] | undefined {
    // Undefined if it was never started, or the file is damaged: its next start writes it.
    return attempt(() => {
      const text = readFileSync(this.#path(what, name), "utf8");
      const known = JSON.parse(text) as Partial<AgentRecord> & { readonly program: string };
      return known.program === programOf(agent) ? (known[what] as AgentRecord[What]) : undefined;
    });
  }

  async #write(what: keyof AgentRecord, name: string, text: string): Promise<void> {
    // Only reading is part of a start.
    const { makeFolder } = await import("../base/file/path.ts");
    const { replaceFile } = await import("../store/replace-file.ts");
    const path = this.#path(what, name);
    makeFolder(dirname(path));
    await replaceFile(path, text);
  }

  /** Settings have a folder of their own, because any file name beside it may be that of an agent. */
  #path(what: keyof AgentRecord, name: string): string {
    const file = `${encodeURIComponent(name)}.json`;
    return join(this.#folder, what === "settings" ? "settings" : "", file);
  }
}
