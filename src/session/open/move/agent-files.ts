import { lstatSync } from "node:fs";
import { mkdir, mkdtempDisposable, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

import { parsedJson } from "../../../base/check.ts";
import { isInside, realPath } from "../../../base/file/path.ts";
import { readRegularFile, UnfitFileError } from "../../../base/file/read-regular-file.ts";
import { type ProgramEnd, runProgram } from "../../../git/run-program.ts";
import { homeOf, usualVariables } from "../../../base/process/environment.ts";
import { isMarkOfEnded, ownMark } from "../../../base/process/process-mark.ts";
import { replaceFile } from "../../../store/replace-file.ts";
import { type BundledFiles, LARGEST_BUNDLE } from "./bundle.ts";

/** An agent that is another program, as it is configured. */
interface MovedAgent {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{7,63}$/;
/** Milliseconds: it starts slowly where the machine is busy. */
const EXPORT_TIME = 120_000;

/** The export of a session of opencode, whose sessions are in a database and know their folder. */
class OpencodeExport {
  readonly #run: (args: readonly string[], cwd: string) => Promise<ProgramEnd>;
  readonly #session: string;

  constructor({ command, args = [], env }: MovedAgent, session: string, own: NodeJS.ProcessEnv) {
    this.#session = session;
    const before = args.filter((arg) => arg !== "acp");
    const limits = { timeout: EXPORT_TIME, maxOutput: LARGEST_BUNDLE };
    this.#run = (words, cwd) =>
      // Without the plugins of the folder that it runs in.
      runProgram({
        ...{ command, args: [...before, ...words, "--pure"], cwd },
        env: { ...usualVariables(own), ...env },
        ...limits,
      });
  }

  async read(): Promise<BundledFiles> {
    const { code, stdout } = await this.#run(["export", this.#session], tmpdir()).catch(FAILED);
    const isIts = code === 0 && this.#isIts(stdout);
    return new Map(isIts ? [[`agent/${this.#session}.json`, stdout]] : []);
  }

  async put(files: BundledFiles, cwd: string): Promise<boolean> {
    const content = files.get(`agent/${this.#session}.json`);
    if (content === undefined || !this.#isIts(content)) return false;
    await removeAbandoned();
    await using folder = await mkdtempDisposable(join(tmpdir(), `trunkline-import-${ownMark()}-`));
    const path = join(folder.path, "session.json");
    await writeFile(path, content, { mode: 0o600 });
    const { code } = await this.#run(["import", path], cwd).catch(FAILED);
    return code === 0;
  }

  /** An import of another one would change that. */
  #isIts(content: Buffer): boolean {
    const { info } = (parsedJson(content.toString("utf8")) ?? {}) as { info?: { id?: unknown } };
    return info?.id === this.#session;
  }
}

/** Removes the folders of processes that were killed while they imported a session. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const [, mark = ""] = /^trunkline-import-(\d+-\w+)-/.exec(name) ?? [];
    // Another person's cannot be removed.
    if (isMarkOfEnded(mark))
      await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
}

/** An agent that cannot be asked has no export. */
const FAILED = (): Pick<ProgramEnd, "code" | "stdout"> => ({ code: 1, stdout: Buffer.alloc(0) });

/**
 * The file of a session of an agent that can load it under another path. The agent's other files, such as its
 * login, are never looked at. Files of an agent that is not known are none.
 */
export class AgentFiles {
  readonly #export: OpencodeExport | undefined;
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
    // In a sandbox, it would have to be asked there.
    const isAsked = isId && top === undefined && words.includes("opencode");
    this.#export = isAsked ? new OpencodeExport({ command, args, env }, session, own) : undefined;
    this.#name = isKnown ? new RegExp(`^${dated}${session}\\.jsonl$`) : /(?!)/;
  }

  /** What goes along. */
  async read(): Promise<BundledFiles> {
    if (this.#export !== undefined) return await this.#export.read();
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
    if (this.#export !== undefined) return await this.#export.put(files, cwd);
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
