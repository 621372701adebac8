import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { homeOf } from "../../../base/process/environment.ts";
import type { Source } from "./bundle.ts";

/** An agent that is another program, as it is configured. */
export interface MovedAgent {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/**
 * Where an agent keeps a session that it can load under another path. Its other files, such as its login, are
 * never looked at.
 */
interface SessionFiles {
  readonly folder: (env: NodeJS.ProcessEnv) => string;
  /** The name of a session's file. */
  readonly name: (session: string) => RegExp;
  /** Where a file belongs, from the folder on. */
  readonly place: (name: string, cwd: string) => string;
}

const KINDS: Readonly<Record<string, SessionFiles>> = {
  claude: {
    folder: (env) => join(env.CLAUDE_CONFIG_DIR ?? join(homeOf(env), ".claude"), "projects"),
    name: (session) => new RegExp(`^${RegExp.escape(session)}\\.jsonl$`),
    place: (name, cwd) => join(cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), name),
  },
  codex: {
    folder: (env) => join(env.CODEX_HOME ?? join(homeOf(env), ".codex"), "sessions"),
    name: (session) =>
      new RegExp(`^rollout-\\d{4}-\\d\\d-\\d\\d[T0-9-]*-${RegExp.escape(session)}\\.jsonl$`),
    place: (name) =>
      join(...name.slice("rollout-".length, "rollout-2026-01-01".length).split("-"), name),
  },
};

const ID = /^[A-Za-z0-9-]{8,64}$/;

/** The files of one session of one agent. */
export class AgentFiles {
  readonly #kind: SessionFiles | undefined;
  readonly #folder: string;
  readonly #session: string;

  constructor({ command, args = [], env }: MovedAgent, session: unknown, own: NodeJS.ProcessEnv) {
    const words = [command, ...args].join(" ").toLowerCase();
    const name = Object.keys(KINDS).find((kind) => words.includes(kind)) ?? "";
    this.#session = typeof session === "string" && ID.test(session) ? session : "";
    this.#kind = this.#session === "" ? undefined : KINDS[name];
    this.#folder = this.#kind?.folder({ ...own, ...env }) ?? "";
  }

  /** What goes along. */
  async sources(): Promise<Source[]> {
    const name = this.#kind?.name(this.#session);
    if (name === undefined) return [];
    const found = await readdir(this.#folder, { recursive: true }).catch(() => []);
    return found
      .filter((path) => name.test(basename(path)))
      .map((path) => ({ name: `agent/${basename(path)}`, path: join(this.#folder, path) }));
  }

  /** Puts what came along where the agent finds it. False if it cannot: then it gets the conversation. */
  async put(files: ReadonlyMap<string, string>, cwd: string): Promise<boolean> {
    let isPut = false;
    for (const [bundled, from] of files) {
      const name = bundled.slice("agent/".length);
      if (!bundled.startsWith("agent/") || this.#kind?.name(this.#session).test(name) !== true)
        continue;
      const target = join(this.#folder, this.#kind.place(name, cwd));
      // What the agent has here is only added to.
      if (existsSync(target) && !(await isContinued(target, from))) return false;
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await copyFile(from, target);
      isPut = true;
    }
    return isPut;
  }
}

async function isContinued(path: string, later: string): Promise<boolean> {
  const [old, now] = await Promise.all([readFile(path), readFile(later)]);
  return now.subarray(0, old.length).equals(old);
}
