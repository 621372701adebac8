/** One comment of a thread on a forge. */
export interface RemoteComment {
  /** Unique in its thread. */
  readonly id: string;
  readonly by: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly text: string;
}

/** Lines in the version of a file that a commit has. */
export interface RemotePlace {
  readonly commit?: string | undefined;
  readonly line: number;
  readonly end: number;
}

/** A thread on a pull or merge request. */
export interface RemoteThread {
  /** The same each time it is read, and different from that of all others. */
  readonly key: string;
  readonly path: string;
  readonly side: "old" | "new";
  /** Where its lines are, the newest version first; empty for the file as a whole. */
  readonly places: readonly RemotePlace[];
  /** The commented lines that the forge reports. */
  readonly quote?: readonly string[] | undefined;
  /** The first one opened it. */
  readonly comments: readonly RemoteComment[];
  /** Undefined if that is not known. */
  readonly isResolved?: boolean | undefined;
  /** What the forge calls it: to reply to it, and to resolve it. */
  readonly replyTo?: string | undefined;
  readonly resolveBy?: string | undefined;
}

/** Threads that were read, and why others were not. */
export interface RemoteThreads {
  readonly threads: readonly RemoteThread[];
  readonly refused: readonly string[];
  /** Comments that are on no file. */
  readonly general: number;
}

/** The threads of one pull or merge request on its forge. */
export interface RemoteReview {
  /** For messages. */
  readonly name: string;
  threads(): Promise<RemoteThreads>;
  /** Adds a comment to a thread, and gives its id. */
  reply(thread: RemoteThread, text: string): Promise<string>;
  resolve(thread: RemoteThread, isResolved: boolean): Promise<void>;
}

export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object of an answer, empty if it is none. */
export function objectIn(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function listIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function lineIn(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 1 ? (value as number) : undefined;
}

/** Ids are numbers on some forges, and texts on others. */
export function idIn(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : textIn(value);
}

/** The first line to the last, in that order. */
export function placeOf(commit: unknown, line: unknown, start: unknown): RemotePlace[] {
  const last = lineIn(line);
  if (last === undefined) return [];
  const first = Math.min(lineIn(start) ?? last, last);
  return [{ commit: textIn(commit), line: first, end: last }];
}

/** Throws why a comment cannot be imported. */
export function commentOf(id: unknown, by: unknown, at: unknown, text: unknown): RemoteComment {
  const known = idIn(id);
  if (known === undefined) throw new Error("it has no id");
  const said = textIn(text);
  if (said === undefined) throw new Error("it has no text");
  const time = Date.parse(String(at));
  if (Number.isNaN(time)) throw new Error("its time is not one");
  return { id: known, by: textIn(by) ?? "ghost", at: time, text: said };
}
