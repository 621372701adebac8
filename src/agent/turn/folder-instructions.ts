import { maskWhole } from "../../base/text/mask.ts";
import { dirname, join } from "node:path";

import type { TurnFiles } from "../files/turn-files.ts";
import { isInside } from "../files/workspace.ts";

/** Files with instructions for agents. The first that exists is used. */
const NAMES = ["AGENTS.md", "CLAUDE.md"];
/** Characters of all of them. */
const MOST_CHARACTERS = 32 * 1024;
/** Instructions of other people's packages are not this project's. */
const FOREIGN = /(?:^|[\\/])(?:node_modules|\.git|vendor|\.venv)(?:[\\/]|$)/;

/**
 * The instructions of subfolders. They are read when a file below is first worked on, and count from
 * the next request to the model on.
 */
export class FolderInstructions {
  readonly #texts = new Map<string, string>();
  #size = 0;

  get text(): string {
    return [...this.#texts.values()].join("");
  }

  /** Looks in the folders between the workspace's folder and a file. */
  async workedOn(path: string, files: TurnFiles): Promise<void> {
    const { cwd } = files.workspace;
    if (!isInside(path, [cwd]) || FOREIGN.test(path.slice(cwd.length))) return;
    const folders: string[] = [];
    for (let at = dirname(path); at !== cwd && isInside(at, [cwd]); at = dirname(at)) {
      folders.unshift(at);
    }
    for (const folder of folders) {
      if (this.#texts.has(folder)) continue;
      // Noted before it is read, so that calls that run together read it once.
      this.#texts.set(folder, "");
      this.#texts.set(folder, this.#bounded(await instructionsIn(folder, files)));
    }
  }

  #bounded(text: string): string {
    const cut = text.slice(0, Math.max(0, MOST_CHARACTERS - this.#size));
    this.#size += cut.length;
    return cut;
  }
}

async function instructionsIn(folder: string, files: TurnFiles): Promise<string> {
  for (const name of NAMES) {
    try {
      const target = await files.workspace.find(join(folder, name));
      const text = await files.readFromDisk(target);
      if (text !== undefined)
        return `\n\nThe ${target.name}, for files below:\n\n${maskWhole(text)}`;
    } catch {
      // Not readable, or a link out of the workspace.
    }
  }
  return "";
}
