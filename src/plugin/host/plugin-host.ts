import { join } from "node:path";

import { objectIn } from "../../base/check.ts";
import { background } from "../../base/background.ts";
import { type ChildExit, OwnedChild } from "../../base/process/child-process.ts";
import { usualVariables } from "../../base/process/environment.ts";
import { LONGEST_LINE, readLines } from "../../base/process/lines.ts";
import type { HostCommand, HostEvent } from "./host-messages.ts";

/** The code of host-main.ts, where the program was built. */
declare const __TRUNKLINE_PLUGIN_HOST__: string | undefined;

/** A plugin that runs, in a process of its own or in a worker. */
export type PluginRun = Pick<OwnedChild, "pid" | "exit" | "end" | "kill">;

export interface HostedModule {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Each line it writes. */
  readonly stderr: (line: string) => void;
}

/** Megabytes that the objects of one plugin may take; beyond that it is ended, and no other. */
const MEMORY = 512;

/** Milliseconds for a worker to end. */
const LAST_RESORT = 10_000;

/** Characters of an event: a line, in which each may be escaped by six. */
const LONGEST_EVENT = 8 * LONGEST_LINE;

interface HostLimits {
  readonly memory: number;
  readonly lastResort: number;
}

interface Worker {
  readonly stderr: (line: string) => void;
  readonly exited: (exit: ChildExit) => void;
}

/**
 * The process that several plugins share, each in a worker of its own: one that throws, loops or takes
 * too much memory is ended alone. The process is started with the first plugin, ends when none is
 * left, and takes all of them along if it crashes.
 */
export class PluginHost implements AsyncDisposable {
  readonly #limits: HostLimits;
  #present: Promise<HostProcess> | undefined;

  constructor({ memory = MEMORY, lastResort = LAST_RESORT }: Partial<HostLimits> = {}) {
    this.#limits = { memory, lastResort };
  }

  /** Starts a plugin in a worker. It runs when this resolves; its output comes later. */
  async start(module: HostedModule): Promise<PluginRun> {
    for (;;) {
      const present = (this.#present ??= HostProcess.open(this.#limits));
      const host = await present.catch((error: unknown) => {
        if (this.#present === present) this.#present = undefined;
        throw error;
      });
      if (!host.isEnding) return host.start(module);
      if (this.#present === present) this.#present = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#present?.catch(() => undefined))?.end();
  }
}

class HostProcess {
  readonly #child: OwnedChild;
  readonly #limits: HostLimits;
  readonly #workers = new Map<string, Worker>();
  #ending: Promise<void> | undefined;

  private constructor(child: OwnedChild, limits: HostLimits) {
    this.#child = child;
    this.#limits = limits;
    readLines(child.stdout, (line) => this.#hear(line), LONGEST_EVENT);
    background(
      child.exit.then((exit) => {
        for (const { exited } of this.#workers.values()) exited(exit);
        this.#workers.clear();
      }),
      "Noting the end of the process that plugins share",
    );
  }

  static async open(limits: HostLimits): Promise<HostProcess> {
    const code =
      typeof __TRUNKLINE_PLUGIN_HOST__ === "string" ? __TRUNKLINE_PLUGIN_HOST__ : undefined;
    const program =
      code === undefined
        ? [join(import.meta.dirname, "host-main.ts")]
        : ["--input-type=commonjs", "--eval", code];
    const last: { host?: HostProcess } = {};
    const child = await OwnedChild.start({
      command: process.execPath,
      args: ["--no-warnings", ...program],
      env: usualVariables(),
      // It says something itself only before it crashes.
      stderr: (line) => last.host?.said(line),
    });
    last.host = new HostProcess(child, limits);
    return last.host;
  }

  get isEnding(): boolean {
    return this.#ending !== undefined || this.#child.isOver;
  }

  start({ file, args, env, stderr }: HostedModule): PluginRun {
    // Random: all plugins can write to the output of the process, and must not guess it.
    const key = crypto.randomUUID();
    const { memory, lastResort } = this.#limits;
    const { promise: exit, resolve: exited } = Promise.withResolvers<ChildExit>();
    this.#workers.set(key, { stderr, exited });
    this.#tell({ start: { key, file, args, env, memory } });
    // A worker that collects garbage all the time cannot be terminated: then the whole process is ended.
    const insist = (): void => {
      const late = setTimeout(() => this.#child.kill(), lastResort);
      background(
        exit.then(() => clearTimeout(late)),
        "Ending a plugin",
      );
    };
    return {
      pid: this.#child.pid,
      exit,
      kill: () => {
        this.#tell({ kill: key });
        insist();
      },
      end: async () => {
        this.#tell({ end: key });
        insist();
        await exit;
      },
    };
  }

  end(): Promise<void> {
    this.#ending ??= this.#child.end();
    return this.#ending;
  }

  said(line: string): void {
    for (const { stderr } of this.#workers.values()) stderr(line);
  }

  #tell(command: HostCommand): void {
    if (!this.#child.isOver) this.#child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  #hear(line: string): void {
    const event = eventIn(line);
    const worker = this.#workers.get(event?.key ?? "");
    if (event === undefined || worker === undefined) return;
    if ("line" in event) {
      worker.stderr(event.line);
      return;
    }
    this.#workers.delete(event.key);
    // None is left: the next one gets another process.
    if (this.#workers.size === 0) background(this.end(), "Ending the process that plugins share");
    worker.exited(event.exit);
  }
}

/** A plugin may write to the output of its process, past its own. That is dropped. */
function eventIn(line: string): HostEvent | undefined {
  const event = objectIn(line);
  const isEvent = typeof event?.["line"] === "string" || typeof event?.["exit"] === "number";
  return isEvent ? (event as unknown as HostEvent) : undefined;
}
