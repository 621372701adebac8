import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { InitializeResult } from "../protocol/acp/schema.gen.ts";

/**
 * What agents answered to `initialize` when they were last started. An editor asks for it before an agent
 * is chosen, and no agent is started for that.
 */
export class KnownAgents {
  readonly #folder: string;

  constructor(data: string) {
    this.#folder = join(data, "agents");
  }

  /** Synchronous, since editors wait for the answer to `initialize`. */
  find(name: string): InitializeResult | undefined {
    try {
      return JSON.parse(readFileSync(this.#path(name), "utf8")) as InitializeResult;
    } catch {
      // It was never started, or the file is damaged: its next start writes it.
      return undefined;
    }
  }

  async keep(name: string, hello: InitializeResult): Promise<void> {
    // Only reading is part of a start.
    const { makeFolder } = await import("../base/file/path.ts");
    const { replaceFile } = await import("../store/replace-file.ts");
    makeFolder(this.#folder);
    await replaceFile(this.#path(name), JSON.stringify(hello));
  }

  #path(name: string): string {
    return join(this.#folder, `${encodeURIComponent(name)}.json`);
  }
}
