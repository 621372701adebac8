import type { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import type { AcpDoorOptions } from "../../protocol/acp/door.ts";
import type { HolderDialer } from "../../protocol/acp/relay/session-links.ts";
import type { BudgetPool } from "../budget/budgets.ts";
import type { SessionStore } from "../store.ts";
import type { Database } from "../../store/database.ts";
import type { SessionReading } from "../../store/session/session-reader.ts";
import type { Channel, ChannelLimits } from "../../wire/channel.ts";

/**
 * How processes share sessions: each session is open in one of them, its holder, and the others reach it
 * there. On one machine they share a data folder; in a fleet they share streams of NATS.
 */
export interface SessionSharing {
  /** How doors find the holders of sessions. */
  readonly holders: { readonly reach: HolderDialer } & Pick<
    AcpDoorOptions,
    "home" | "takeOverWithin" | "isStopped"
  >;
  open(options: SharingOptions): Promise<SharedSessions>;
}

export interface SharingOptions {
  readonly log: Log;
  readonly limits: Partial<ChannelLimits>;
  /** Called when another process has taken a session over that was open here. */
  readonly lost: (sessionId: string) => void;
}

/** The sessions as this process sees them. */
export interface SharedSessions extends AsyncDisposable {
  readonly store: SessionStore;
  /** The database of this process, for what else is stored about sessions. */
  readonly database: Database;
  /** Budgets that are shared with processes that have other databases. */
  readonly pool?: BudgetPool | undefined;
  /** The id under which this process holds sessions. */
  readonly holder: string;
  /** The id of the live process that has a session open; undefined if none has. */
  holderOf(sessionId: string): Promise<string | undefined>;
  /** Sessions that this machine still has, and that were deleted where another had them open. */
  readonly deletedElsewhere?: () => AsyncIterable<DeletedSession>;
  /** Opens the sessions of all processes for a dashboard. */
  openReader(): Promise<SessionReading>;
  /** Serves the sessions that are open here to other processes, until it is disposed of. */
  letIn(serve: ServeProcess): Promise<AsyncDisposable>;
}

export interface DeletedSession {
  readonly id: string;
  readonly run: unknown;
  /** Removes the local copy of its events. */
  readonly drop: () => Promise<void>;
}

/** Serves a conversation of another process until its channel ends. */
export type ServeProcess = (channel: Channel<string>, principal: Principal) => Promise<void>;
