import type { Log } from "../base/log.ts";
import type { Agent, AgentOpenOptions, HistoryEntry, Import } from "./agent.ts";
import { readForeignId } from "./foreign/foreign-sessions.ts";
import type { Notes } from "./session-notes.ts";
import type { Session } from "./session.ts";
import type { SessionSetup } from "./session-setup.ts";
import type { SessionStore } from "./store.ts";
import { movedAway } from "./session-error.ts";
import { historyOf } from "./turn/replay.ts";

/** The options with which the agent of a session is opened. `isOld`: the session has a history. */
export function agentOptions(
  session: Session,
  setup: SessionSetup,
  agent: Agent,
  { store, log, isOld }: { store: SessionStore; log: Log; isOld: boolean },
): AgentOpenOptions {
  const { notes } = session;
  const { cwd, additionalDirectories, mcpServers, clientServers, meta, systemPrompt } = setup;
  return {
    sessionId: session.id,
    // Clients know the session by the folder that they opened; the agent works in the work tree.
    cwd: session.workplace?.folder ?? cwd,
    owner: session.owner,
    revoked: session.revoked,
    additionalDirectories,
    mcpServers,
    clientServers,
    providers: setup.providers?.(agent.name),
    systemPrompt,
    history: isOld ? pastOf(store, session) : undefined,
    imports: isOld ? undefined : importOf(session, setup),
    chosen: notes.chosen ?? {},
    memory: notes.memory,
    remember: (memory) => session.keep({ memory }),
    log,
    confirm: async () => {
      await store.confirm?.(session.id, false);
      if (session.isOver) throw movedAway(session.id);
    },
    _meta: meta,
    update: session.update,
    notify: session.notify,
  };
}

/** The history so far, from the last summary on. It can be iterated more than once. */
function pastOf(
  store: SessionStore,
  { id, last, notes: { summaryAfter, moved } }: Session,
): AsyncIterable<readonly HistoryEntry[]> {
  const past = () => historyOf(store.read(id, summaryAfter), last);
  return { [Symbol.asyncIterator]: () => (moved === undefined ? past() : inFolder(past(), moved)) };
}

/** Entries of a session that was moved name the folders in which it worked before. */
async function* inFolder(
  past: AsyncIterable<readonly HistoryEntry[]>,
  { folders, top }: NonNullable<Notes["moved"]>,
): AsyncGenerator<readonly HistoryEntry[]> {
  const inJson = (path: string): string => JSON.stringify(path).slice(1, -1);
  const before = folders
    .filter((path) => path.length > 1)
    .map((path) => RegExp.escape(inJson(path)));
  if (before.length === 0) {
    yield* past;
    return;
  }
  const pattern = new RegExp(`(?:${before.join("|")})(?![\\w.-])`, "g");
  for await (const entries of past) {
    const text = JSON.stringify(entries).replaceAll(pattern, () => inJson(top));
    yield JSON.parse(text) as HistoryEntry[];
  }
}

/** The agent's own session that it loads when a session that it began itself is opened for the first time. */
function importOf(session: Session, { isForced = false }: SessionSetup): Import | undefined {
  const { id } = readForeignId(session.id) ?? {};
  if (id === undefined) return undefined;
  return { id, isForced, update: (update) => session.say(update) };
}
