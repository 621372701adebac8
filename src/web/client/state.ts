import { computed, type Signal, signal } from "@preact/signals";

import type {
  ApprovalRow,
  LiveEvent,
  CurrentPrincipal,
  Overview,
  Page,
  PluginRow,
  RunRow,
  ServerRow,
  ThreadRow,
  ToolCalls,
  Alert,
} from "../../server/dashboard/api.ts";
import type { SessionRow } from "../../server/dashboard/session-api.ts";
import { Collection } from "./collection.ts";
import { EventStream, type ServerEvent, type StreamState } from "./event-stream.ts";
import { Drafts } from "./drafts.ts";
import { ReadMarks } from "./read-marks.ts";
import { get, RequestError } from "./request.ts";

export const me = signal<CurrentPrincipal | undefined>(undefined);
export const overview = signal<Overview | undefined>(undefined);
export const connection = signal<StreamState>({ is: "connecting" });
export const troubles = signal<readonly Alert[]>([]);
export const readMarks = new ReadMarks(globalThis.localStorage);
export const drafts = new Drafts(globalThis.localStorage);

const RANK = { waiting: 0, running: 1, idle: 2 } as const;

export const sessions = pagesOf<SessionRow>(
  "sessions",
  (a, b) => RANK[a.state] - RANK[b.state] || orderOf(b) - orderOf(a),
);

/** Waiting sessions are ordered by how long they wait, running ones by their start, so that they do not move. */
function orderOf({ state, waiting, created, updated }: SessionRow): number {
  if (state === "waiting") return -(waiting?.since ?? updated);
  return state === "running" ? created : updated;
}

export const runs = pagesOf<RunRow>("runs", (a, b) => b.updated - a.updated);
export const threads = pagesOf<ThreadRow>(
  "threads",
  (a, b) =>
    Number(a.state === "resolved") - Number(b.state === "resolved") || b.updated - a.updated,
);
export const servers = listOf<ServerRow>("servers", ({ name }) => name);
export const plugins = listOf<PluginRow>("plugins", ({ id }) => id);
export const approvals = listOf<ApprovalRow>("approvals", ({ id }) => id);
export const calls = listOf<ToolCalls>("calls", ({ tool }) => tool, "?minutes=60");

/** The collections by the live events that change their rows. */
const CHANGED = {
  ...{ session: sessions, run: runs, thread: threads },
  ...{ server: servers, plugin: plugins, approval: approvals, calls },
} as const;

/** What the page of one session does with its events. */
export interface SessionListener {
  readonly session: string;
  /** Number of the last event that it has. */
  readonly last: () => number;
  readonly onEvent: (event: LiveEvent) => void;
  /** Events were missed: it loads everything again. */
  readonly onReset: () => void;
}

let stream: EventStream | undefined;
let listener: SessionListener | undefined;
let epoch: string | undefined;

/** Whether the person may see what a scope covers. */
export function hasScope(scope: string): boolean {
  return me.value?.scopes.includes(scope) ?? false;
}

/** Whether the person may change it. */
export function mayDo(scope: string): boolean {
  return hasScope(scope) && me.value?.observes !== true;
}

export const waitingCount = computed(
  () => sessions.rows.value.filter(({ state }) => state === "waiting").length,
);

/** Opens the one live stream of this page, for a session too where one is shown. */
export function listen(to: SessionListener | undefined): void {
  listener = to;
  // An id is EPOCH.ROW.SEQ; the last part counts the events of the session that was shown before.
  const lastId = (stream?.lastId ?? "").split(".").slice(0, 2).join(".");
  stream?.close();
  stream = new EventStream({
    lastId,
    url: () => {
      if (to === undefined) return "/api/events";
      const query = new URLSearchParams({ session: to.session, after: String(to.last()) });
      return `/api/events?${query.toString()}`;
    },
    onEvent: receive,
    onState: (state) => {
      connection.value = state;
    },
  });
}

export function retryNow(): void {
  stream?.retry();
}

/** Loads what every page shows. */
export async function begin(): Promise<void> {
  addEventListener("online", retryNow);
  listen(undefined);
  await loadShared();
}

async function loadShared(): Promise<void> {
  const load = async <T>(path: string, into: Signal<T>): Promise<void> => {
    try {
      into.value = await get<T>(path);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (error.status === 401) connection.value = { is: "refused" };
    }
  };
  await Promise.all([load("/me", me), load("/overview", overview), sessions.reload()]);
}

function reloadEverything(): void {
  const others = Object.values(CHANGED).filter((each) => each !== sessions);
  const loaded = others.filter(({ state }) => state.peek() !== "new");
  const work = [loadShared(), ...loaded.map((collection) => collection.reload())];
  Promise.all(work).catch((error: unknown) => reportError(error));
  listener?.onReset();
}

function isRowChange(
  event: LiveEvent,
): event is Extract<LiveEvent, { event: keyof typeof CHANGED }> {
  return event.event in CHANGED;
}

function receive({ name, data }: ServerEvent): void {
  const event = { event: name, data: JSON.parse(data) as unknown } as LiveEvent;
  if (isRowChange(event)) {
    (CHANGED[event.event] as Collection<object>).apply(event.data);
    return;
  }
  switch (event.event) {
    case "hello": {
      const isRestarted = epoch !== undefined && epoch !== event.data.epoch;
      epoch = event.data.epoch;
      if (isRestarted) {
        // The new process reports its own troubles.
        troubles.value = [];
        reloadEverything();
      }
      break;
    }
    case "reset":
      reloadEverything();
      break;
    case "overview":
      if (event.data.row !== null) overview.value = event.data.row;
      break;
    case "trouble": {
      const { id, row } = event.data;
      const others = troubles.value.filter((each) => each.id !== id);
      troubles.value = row === null ? others : [...others, row];
      break;
    }
    case "session-events":
    case "session-asks":
      listener?.onEvent(event);
      break;
    default:
    // A newer server may say more.
  }
}

/** A list that the server returns whole, as a member with the name of the list. */
function listOf<T>(name: string, idOf: (row: T) => string, query = ""): Collection<T> {
  return new Collection<T>({
    fetch: async (): Promise<Page<T>> => {
      const found = await get<Record<string, readonly T[]>>(`/${name}${query}`);
      return { rows: found[name] ?? [] };
    },
    idOf,
    compare: (a, b) => idOf(a).localeCompare(idOf(b)),
  });
}

/** A list that the server returns in pages. */
function pagesOf<T extends { readonly id: string }>(
  name: string,
  compare: (a: T, b: T) => number,
): Collection<T> {
  return new Collection<T>({
    fetch: (cursor) => {
      const next = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      return get(`/${name}?limit=500${next}`);
    },
    idOf: ({ id }) => id,
    compare,
  });
}
