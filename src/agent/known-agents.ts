import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { InitializeResult } from "../protocol/acp/schema.gen.ts";
import type { SessionSettings } from "../session/agent.ts";

/** What starts an agent. */
interface AgentProgram {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
}

/** Each of its files has one of both. */
interface KnownFile {
  readonly program: string;
  readonly hello?: InitializeResult;
  readonly settings?: KnownSettings;
}

type KnownSettings = Pick<SessionSettings, "modes" | "models" | "configOptions">;

/** Characters of settings that are kept: some agents offer hundreds of models. */
const LONGEST_SETTINGS = 256 * 1024;

/** The built-in agent is no program. */
function programOf(agent: AgentProgram | undefined): string {
  return agent === undefined ? "" : JSON.stringify([agent.command, ...(agent.args ?? [])]);
}

/** A folder beside the other files: the names of agents are free. */
const SETTINGS = "settings";

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
    return this.#read("", name, agent)?.hello;
  }

  /** What a session of the agent last offered to choose from. */
  findSettings(name: string, agent: AgentProgram | undefined): KnownSettings | undefined {
    return this.#read(SETTINGS, name, agent)?.settings;
  }

  async keep(name: string, agent: AgentProgram, hello: InitializeResult): Promise<void> {
    const known: KnownFile = { program: programOf(agent), hello };
    await this.#write("", name, JSON.stringify(known));
  }

  async keepSettings(
    name: string,
    agent: AgentProgram | undefined,
    { modes, models, configOptions }: SessionSettings,
  ): Promise<void> {
    const text = JSON.stringify({
      program: programOf(agent),
      settings: { modes, models, configOptions },
    });
    if (text.length > LONGEST_SETTINGS) return;
    await this.#write(SETTINGS, name, text);
  }

  #read(part: string, name: string, agent: AgentProgram | undefined): KnownFile | undefined {
    try {
      const known = JSON.parse(readFileSync(this.#path(part, name), "utf8")) as KnownFile;
      return known.program === programOf(agent) ? known : undefined;
    } catch {
      // It was never started, or the file is damaged: its next start writes it.
      return undefined;
    }
  }

  async #write(part: string, name: string, text: string): Promise<void> {
    // Only reading is part of a start.
    const { makeFolder } = await import("../base/file/path.ts");
    const { replaceFile } = await import("../store/replace-file.ts");
    makeFolder(join(this.#folder, part));
    await replaceFile(this.#path(part, name), text);
  }

  #path(part: string, name: string): string {
    return join(this.#folder, part, `${encodeURIComponent(name)}.json`);
  }
}
