import { isId, type NodeAddress } from "../connection/node-request.ts";

/** `observer`: only looks, such as a command that shows the fleet. It is no member. */
export type Role = "gateway" | "worker" | "observer";

/** What a node tells about itself. */
export interface NodeState {
  readonly role: Role;
  readonly version: string;
  /** Of a gateway: where its clients connect. */
  readonly url?: string | undefined;
  /** Sessions that a worker runs at once, and how many of these places are taken. */
  readonly slots: number;
  readonly used: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Repositories whose objects a worker has in its cache. */
  readonly warm: readonly string[];
  /** It finishes its turns and gives its sessions away. */
  readonly isDraining: boolean;
  /** It has given all its sessions away, and ends. */
  readonly isDrained?: boolean | undefined;
  /** Sessions that a worker has open. */
  readonly sessions: number;
  /** Tools of its MCP servers and plugins, which it offers to the other nodes. */
  readonly tools?: number | undefined;
  /** Of a gateway: requests of its clients that wait for a free slot. */
  readonly waiting: readonly Waiting[];
}

/** Requests that ask for the same labels. */
export interface Waiting {
  readonly labels: Readonly<Record<string, string>>;
  readonly count: number;
}

export interface Member extends NodeAddress, NodeState {}

/** A message on the subject of beats. */
export interface Beat {
  readonly id: string;
  readonly number: number;
  /** It ends now. */
  readonly isLeaving: boolean;
  readonly state: NodeState;
}

const MOST_WARM = 100;
const MOST_LABELS = 100;
/** Characters of a label or another text. */
const LONGEST = 1_000;
const MOST_QUEUES = 1_000;

export function encodeBeat(beat: Beat): string {
  const { state } = beat;
  return JSON.stringify({ ...beat, state: { ...state, warm: state.warm.slice(0, MOST_WARM) } });
}

/** Undefined for what is no beat. */
export function readBeat(text: string): Beat | undefined {
  let value: Partial<Record<keyof Beat, unknown>>;
  try {
    value = (JSON.parse(text) ?? {}) as typeof value;
  } catch {
    return undefined;
  }
  const state = readState(value.state);
  const { id, number, isLeaving } = value;
  if (!isId(id) || state === undefined) return undefined;
  return { id, number: asNumber(number), isLeaving: isLeaving === true, state };
}

/** A node of another version may tell more or less than this one knows. */
function readState(given: unknown): NodeState | undefined {
  const value = (given ?? {}) as Partial<Record<keyof NodeState, unknown>>;
  const { role, version, url, warm } = value;
  if (!isRole(role)) return undefined;
  return {
    role,
    version: isText(version) ? version : "0.0.0",
    url: isText(url) ? url : undefined,
    slots: asNumber(value.slots),
    used: asNumber(value.used),
    labels: asLabels(value.labels),
    warm: asList(warm).filter(isText).slice(0, MOST_WARM),
    isDraining: value.isDraining === true,
    isDrained: value.isDrained === true,
    sessions: asNumber(value.sessions),
    tools: asNumber(value.tools),
    waiting: asList(value.waiting).slice(0, MOST_QUEUES).map(readWaiting),
  };
}

function readWaiting(given: unknown): Waiting {
  const { labels, count } = (given ?? {}) as Partial<Record<keyof Waiting, unknown>>;
  return { labels: asLabels(labels), count: asNumber(count) };
}

function isRole(value: unknown): value is Role {
  return value === "gateway" || value === "worker" || value === "observer";
}

function asNumber(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST;
}

function asLabels(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  const entries = Object.entries(value) as [string, unknown][];
  const labels = entries.filter((entry): entry is [string, string] => entry.every(isText));
  return Object.fromEntries(labels.slice(0, MOST_LABELS));
}
