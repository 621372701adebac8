import { relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { attempt } from "../base/attempt.ts";
import { background } from "../base/background.ts";
import { realPath } from "../base/file/path.ts";
import type { Log } from "../base/log.ts";
import { isObject } from "../base/check.ts";
import { TaskQueue } from "../base/limit/task-queue.ts";
import type { SessionUpdate } from "../session/agent.ts";
import type { RecordedTurn, TurnRecording, WorkRecorder } from "../session/turn/turn-recording.ts";
import { linesOf } from "../review/anchor/file-text.ts";
import { WorkHistory, linesWithout, type WorkStep } from "./work-history.ts";
import { writeNotes } from "./write-notes.ts";

/** Kinds of tool calls that change no files (ACP, "Tool Calls"). */
const READING: ReadonlySet<unknown> = new Set(["read", "search", "think", "fetch", "switch_mode"]);
/** Milliseconds that a turn waits for the first look, in a repository where that takes long. */
const LONGEST_WAIT = 2_000;
const WHAT = "Recording who changed files";
const ENDED: ReadonlySet<unknown> = new Set(["completed", "failed"]);

/** A tool call that runs. */
interface PendingCall {
  readonly step: WorkStep;
  /** The files that an edit announces to change; undefined for a command, which announces none. */
  paths: ReadonlySet<string> | undefined;
  /** The lines that the call announces to write, by file. */
  told: NonNullable<WorkStep["told"]>;
}

/** The turns that work in one work tree, in order. */
interface TreeRecord {
  readonly history: WorkHistory;
  readonly queue: TaskQueue;
  readonly calls: Map<string, PendingCall>;
}

/**
 * Records who changes the files of a work tree while agents work there: by comparing the files before and
 * after each tool call, so edits by tools, commands and scripts all count. Between calls it is the person.
 */
export class TurnRecorder implements WorkRecorder {
  readonly #data: string;
  readonly #log: Log;
  readonly #trees = new Map<string, TreeRecord>();

  constructor(data: string, log: Log) {
    this.#data = data;
    this.#log = log;
  }

  begin(turn: RecordedTurn): TurnRecording | undefined {
    // The folder may have gone meanwhile.
    const history = attempt(() => WorkHistory.of(this.#data, turn.folder));
    if (history === undefined) return undefined;
    const tree = this.#trees.getOrInsertComputed(history.root, () => {
      return { history, queue: new TaskQueue(), calls: new Map<string, PendingCall>() };
    });
    const { session, turn: id, agent, model } = turn;
    const step = { by: "agent", session, turn: id, agent } as const;
    const own = new Set<string>();
    const stored = this.#look(tree);
    const isNoted = attempt(() => history.notesSince) !== undefined;
    const head = isNoted ? history.head().catch(() => undefined) : undefined;
    // A change that is found after this time may be the agent's.
    const entered = Promise.race([stored, delay(LONGEST_WAIT, undefined, { ref: false })])
      .then(() => history.enter(session))
      .catch((error: unknown) => this.#notRecorded(tree, error));
    return {
      ready: entered.then(() => {}),
      saw: (update) =>
        this.#saw(tree, own, model === undefined ? step : { ...step, model }, update),
      ended: async () => {
        // Records the changes of calls that never ended, and of background commands.
        for (const key of own) this.#end(tree, key);
        background(this.#look(tree), WHAT);
        if (head !== undefined) background(this.#note(tree, await head), WHAT);
        await tree.queue.idle();
        (await entered)?.[Symbol.dispose]();
      },
    };
  }

  /** Writes the notes of what was committed in a turn, where the person has said yes. */
  #note(tree: TreeRecord, before: string | undefined): Promise<void> {
    const { history } = tree;
    return this.#inOrder(tree, async () => {
      if ((await history.head()) !== before) await writeNotes(history);
    });
  }

  #saw(tree: TreeRecord, own: Set<string>, step: WorkStep, update: SessionUpdate): void {
    const { sessionUpdate, toolCallId, status, kind } = update;
    if (!sessionUpdate.startsWith("tool_call") || typeof toolCallId !== "string") return;
    const key = `${step.session} ${toolCallId}`;
    let call = tree.calls.get(key);
    if (call === undefined && sessionUpdate === "tool_call" && !READING.has(kind)) {
      // If a call is first reported when it has ended, the files before it are unknown.
      if (!ENDED.has(status)) background(this.#look(tree), WHAT);
      call = {
        step: { ...step, call: toolCallId, since: Date.now() },
        paths: kind === "edit" ? new Set() : undefined,
        told: {},
      };
      tree.calls.set(key, call);
      own.add(key);
    }
    if (call === undefined) return;
    if (call.paths !== undefined) {
      call.paths = new Set([...call.paths, ...pathsIn(update, tree.history.root)]);
    }
    call.told = { ...call.told, ...textsIn(update, tree.history.root) };
    if (!ENDED.has(status)) return;
    this.#end(tree, key);
    own.delete(key);
  }

  #end(tree: TreeRecord, key: string): void {
    const call = tree.calls.get(key);
    if (call === undefined) return;
    // If two calls run at the same time, it is unknown which one wrote a line.
    const others = [...tree.calls.values()].filter((each) => each !== call);
    const isAlone = others.every(({ step }) => step.session === call.step.session);
    const { paths, step, told } = call;
    if (paths !== undefined && paths.size > 0 && others.length === 0) {
      background(
        this.#store(tree, { by: "person" }, (path) => !paths.has(path)),
        WHAT,
      );
    }
    background(this.#store(tree, isAlone ? { ...step, told } : { by: "unknown" }), WHAT);
    tree.calls.delete(key);
  }

  /** Stores what changed while no call of this process ran. */
  #look(tree: TreeRecord): Promise<void> {
    return this.#store(tree, { by: tree.calls.size > 0 ? "unknown" : "person" });
  }

  /** Stores what has changed since the last look. A failure costs this record, not the turn. */
  #store(tree: TreeRecord, step: WorkStep, only?: (path: string) => boolean): Promise<void> {
    return this.#inOrder(tree, () => tree.history.record(step, only));
  }

  #inOrder(tree: TreeRecord, work: () => Promise<unknown>): Promise<void> {
    return tree.queue.run(async () => {
      try {
        await work();
      } catch (error) {
        this.#notRecorded(tree, error);
      }
    });
  }

  #notRecorded({ history }: TreeRecord, error: unknown): undefined {
    this.#log.warn("authorship.not-recorded", { folder: history.root, error });
  }
}

/** The files that a call names, relative to the top of the work tree. */
function pathsIn({ locations, content }: SessionUpdate, root: string): string[] {
  const named: unknown[] = [locations, content].flat();
  return named.flatMap((each) => {
    if (!isObject(each) || typeof each["path"] !== "string") return [];
    return [pathIn(root, each["path"])];
  });
}

/** The lines that its diffs add (ACP, "Diff"). */
function textsIn({ content }: SessionUpdate, root: string): Record<string, string[]> {
  const told: Record<string, string[]> = {};
  for (const each of [content].flat()) {
    if (!isObject(each) || each["type"] !== "diff" || typeof each["path"] !== "string") continue;
    const [old, now] = [each["oldText"] ?? "", each["newText"]].map((text) =>
      linesOf(String(text)),
    );
    const path = pathIn(root, each["path"]);
    told[path] = [...(told[path] ?? []), ...linesWithout(now ?? [], old ?? [])];
  }
  return told;
}

/** The agent may work behind a link; the top of the work tree is its real path. */
function pathIn(root: string, path: string): string {
  return relative(root, realPath(path));
}
