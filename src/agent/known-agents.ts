import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { InitializeResult } from "../protocol/acp/schema.gen.ts";

/** What starts an agent. */
interface AgentProgram {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
}

interface KnownAgentFile {
  readonly program: string;
  readonly hello: InitializeResult;
}

function programOf({ command, args = [] }: AgentProgram): string {
  return JSON.stringify([command, ...args]);
}

/**
 * What agents answered to `initialize` when they were last started. An editor asks for it before an agent
 * is chosen, and no agent is started for that.
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
    try {
      const known = JSON.parse(readFileSync(this.#path(name), "utf8")) as KnownAgentFile;
      return known.program === programOf(agent) ? known.hello : undefined;
    } catch {
      // It was never started, or the file is damaged: its next start writes it.
      return undefined;
    }
  }

  async keep(name: string, agent: AgentProgram, hello: InitializeResult): Promise<void> {
    // Only reading is part of a start.
    const { makeFolder } = await import("../base/file/path.ts");
    const { replaceFile } = await import("../store/replace-file.ts");
    makeFolder(this.#folder);
    const known: KnownAgentFile = { program: programOf(agent), hello };
    await replaceFile(this.#path(name), JSON.stringify(known));
  }

  #path(name: string): string {
    return join(this.#folder, `${encodeURIComponent(name)}.json`);
  }
}
