import { setTimeout } from "node:timers/promises";

import { attempt } from "../attempt.ts";
import * as table from "./process-table.ts";
import { nextTurn } from "../event-loop.ts";

/** Environment variable that names the owner of a process. Everything that the process starts inherits it. */
const VARIABLE = "TRUNKLINE_OWNER";
const own = { mark: "", count: 0 };

/**
 * The part of the mark that all children of this process share. Made on demand: loading cryptography takes
 * milliseconds of a start.
 */
export function markOfOwn(): string {
  return (own.mark ||= crypto.randomUUID());
}

/**
 * The environment variable that marks a child and everything that it starts. `serves` names what the child
 * works for, by which another process can find it (`endServed`).
 */
export function ownerMark(serves?: string): {
  readonly mark: string;
  readonly env: NodeJS.ProcessEnv;
} {
  const mark = `${markOfOwn()}:${++own.count}${serves === undefined ? ";" : servingMark(serves)}`;
  // Whoever owns us owns our children too.
  return { mark, env: { [VARIABLE]: `${process.env[VARIABLE] ?? ""}${mark}` } };
}

function servingMark(serves: string): string {
  return `@${encodeURIComponent(serves)};`;
}

/**
 * Ends what another process has started for certain purposes, such as a session. Where the marks of
 * processes cannot be read, everything that it has started.
 */
export async function endServed(purposes: readonly string[], pid: number): Promise<void> {
  if (!table.hasProc) return await new ProcessTree(pid).clear();
  for (const serves of purposes) await new ProcessTree(0, servingMark(serves)).clear();
}

/** Processes that are started during one round are found in the next. */
const MOST_ROUNDS = 20;
/** Milliseconds that killed processes have to end. */
const ROUND = 5;

/**
 * A process and all that it started, and these in turn. One that leaves its group is found by its
 * parent, and by its mark when that is gone.
 */
export class ProcessTree {
  readonly #root: table.RunningProcess;
  readonly #mark: string | undefined;
  /** All but the root. */
  readonly #known = new Map<number, table.RunningProcess>();

  constructor(pid: number, mark?: string) {
    // Asking `ps` would take longer than starting the child did.
    const found = table.hasProc ? table.processOf(pid) : undefined;
    this.#root = found ?? { pid, parent: process.pid, group: pid, isStopped: false, start: "" };
    this.#mark = mark;
  }

  /**
   * Records the processes of the tree, so that they are found after their parents have ended. Stops early
   * once `isUseless` returns true.
   */
  async look(isUseless = (): boolean => false): Promise<void> {
    const all: table.RunningProcess[] = [];
    const ours: table.RunningProcess[] = [];
    // Callers that wait for a process that has ended are told first.
    await nextTurn();
    if (isUseless()) return;
    for (const part of table.processTable()) {
      all.push(...part);
      ours.push(...this.#oursIn(part));
      await nextTurn();
      if (isUseless()) break;
    }
    this.#remember(all, ours);
  }

  /** Kills all but the root, until nobody is left. */
  async clear(): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      await this.look();
      if (!this.#kill()) return;
      await setTimeout(ROUND);
    }
  }

  /** Like `look`, but synchronous. */
  lookNow(): void {
    const all = [...table.processTable()].flat();
    this.#remember(all, this.#oursIn(all));
  }

  /** Kills the root and whoever is in it at this moment. */
  killNow(): void {
    this.lookNow();
    kill(this.#root);
    this.#kill();
  }

  /**
   * The processes that belong to the tree whoever their parent is: those already known, and those with its
   * mark. Reading marks takes longer than listing processes.
   */
  #oursIn(part: readonly table.RunningProcess[]): table.RunningProcess[] {
    return part.filter((one) => this.#isKnown(one) || this.#isMarked(one));
  }

  /** Remembers `ours`, and what these have started of `all`. */
  #remember(all: readonly table.RunningProcess[], ours: readonly table.RunningProcess[]): void {
    const children = Map.groupBy(all, ({ parent }) => parent);
    // Iterating a Set visits what is added meanwhile, too.
    const found = new Set(ours);
    for (const one of found) {
      for (const child of children.get(one.pid) ?? []) found.add(child);
      if (one.pid !== this.#root.pid) this.#known.set(one.pid, one);
    }
  }

  #isKnown({ pid, start }: table.RunningProcess): boolean {
    const known = pid === this.#root.pid ? this.#root : this.#known.get(pid);
    return known?.start === start || known?.start === "";
  }

  #isMarked({ pid, start }: table.RunningProcess): boolean {
    if (!table.hasProc || this.#mark === undefined || pid === this.#root.pid) return false;
    // What the root has started is younger than it.
    return Number(start) >= Number(this.#root.start) && table.wasGiven(pid, this.#mark);
  }

  /** Whether any process was left. */
  #kill(): boolean {
    for (const one of this.#known.values()) if (!kill(one)) this.#known.delete(one.pid);
    return this.#known.size > 0;
  }
}

/** Whether the process was still running. Its number may belong to another one by now. */
function kill({ pid, start }: table.RunningProcess): boolean {
  const now = table.processOf(pid);
  if (now === undefined || (start !== "" && now.start !== start)) return false;
  return attempt(() => process.kill(pid, "SIGKILL")) === true;
}
