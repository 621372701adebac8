import { lstatSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { isInside, realPath } from "../../../base/file/path.ts";
import { readRegularFile, UnfitFileError } from "../../../base/file/read-regular-file.ts";
import { homeOf } from "../../../base/process/environment.ts";
import { replaceFile } from "../../../store/replace-file.ts";
import { type BundledFiles, LARGEST_BUNDLE } from "./bundle.ts";

/** An agent that is another program, as it is configured. */
interface MovedAgent {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

const ID = /^[A-Za-z0-9][A-Za-z0-9-]{7,63}$/;

/**
 * The file of a session of an agent that can load it under another path. The agent's other files, such as its
 * login, are never looked at. Files of an agent that is not known are none.
 */
export class AgentFiles {
  readonly #folder: string;
  readonly #top: string;
  /** The name of the session's file, with its date. */
  readonly #name: RegExp;

  /** All of it is in `top`, if that is given. */
  constructor(
    { command, args = [], env }: MovedAgent,
    session: unknown,
    own: NodeJS.ProcessEnv,
    top?: string,
  ) {
    const words = [command, ...args].join(" ").toLowerCase();
    const { CLAUDE_CONFIG_DIR, CODEX_HOME, HOME } = { ...own, ...env };
    const home = homeOf({ HOME });
    const isClaude = words.includes("claude");
    this.#folder = isClaude
      ? join(CLAUDE_CONFIG_DIR ?? join(home, ".claude"), "projects")
      : join(CODEX_HOME ?? join(home, ".codex"), "sessions");
    const isId = typeof session === "string" && ID.test(session);
    this.#top = top ?? this.#folder;
    const isKnown = isId && (isClaude || words.includes("codex"));
    const dated = isClaude ? "()" : String.raw`rollout-(\d{4}-\d\d-\d\d)T[\d-]+-`;
    this.#name = isKnown ? new RegExp(`^${dated}${session}\\.jsonl$`) : /(?!)/;
  }

  /** What goes along. */
  async read(): Promise<BundledFiles> {
    const paths = await readdir(this.#folder, { recursive: true }).catch(() => []);
    const found = paths.filter((path) => this.#name.test(basename(path)));
    return new Map(
      found.flatMap((path) => {
        const content = this.#read(join(this.#folder, path));
        return content === undefined ? [] : [[`agent/${basename(path)}`, content]];
      }),
    );
  }

  /** Puts what came along where the agent finds it. False if it cannot: then it gets the conversation. */
  async put(files: BundledFiles, cwd: string): Promise<boolean> {
    let isPut = false;
    for (const [bundled, content] of files) {
      const [name, day] = this.#name.exec(bundled.replace(/^agent\//, "")) ?? [];
      if (name === undefined || day === undefined) continue;
      // As claude names the folder of a project, and codex that of a day.
      const folder = day === "" ? cwd.replaceAll(/[^A-Za-z0-9]/g, "-") : join(...day.split("-"));
      const target = join(this.#folder, folder, name);
      const isThere = lstatSync(target, { throwIfNoEntry: false }) !== undefined;
      const known = isThere ? this.#read(target) : Buffer.alloc(0);
      // What the agent has here is only added to.
      if (known === undefined || !content.subarray(0, known.length).equals(known)) return false;
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      if (!isInside(realPath(dirname(target)), realPath(this.#top))) return false;
      await replaceFile(target, content);
      isPut = true;
    }
    return isPut;
  }

  /** Programs that the agent has run may have put anything there. */
  #read(path: string): Buffer | undefined {
    try {
      return readRegularFile(path, { most: LARGEST_BUNDLE, inside: [this.#top] });
    } catch (error) {
      if (error instanceof UnfitFileError) return undefined;
      throw error;
    }
  }
}
