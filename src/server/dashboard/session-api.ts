/**
 * The part of the dashboard's API that is about sessions: types only. What holds for every endpoint is
 * in `api.ts`.
 */
import type { StoredEvent } from "../../session/store.ts";

export type SessionState = "waiting" | "running" | "idle";

/** `GET /api/sessions[?cursor=][&limit=]` → `Page<SessionRow>`: waiting ones first, then by last use. */
export interface SessionRow {
  readonly id: string;
  readonly title?: string;
  readonly state: SessionState;
  /** Where `state` is waiting: for what, since when. */
  readonly waiting?: Readonly<{ for: "permission" | "question"; says: string; since: number }>;
  /** How the last turn ended, such as `end_turn`, `cancelled`, `interrupted`; absent while one runs. */
  readonly ended?: string;
  readonly agent: string;
  readonly model?: string;
  readonly mode?: string;
  /** The editor or program that prompted last. */
  readonly client?: string;
  readonly cwd: string;
  /** The name of the repository that contains `cwd`, and its branch. */
  readonly repository?: string;
  readonly branch?: string;
  /** Tokens in the context, and how many fit. */
  readonly context?: { readonly used: number; readonly size: number };
  readonly cost?: { readonly amount: number; readonly currency: string };
  readonly created: number;
  readonly updated: number;
  /** Number of the last event: larger than the last one that was read means unread. */
  readonly last: number;
  /** "here": open in this server; "elsewhere": in another process of the same user; "no": on disk. */
  readonly open: "here" | "elsewhere" | "no";
  /** The session that it was forked from. */
  readonly parent?: string;
  /** It is a remote run: see `RunRow`. */
  readonly isRun: boolean;
  /** Who owns it, where that is not the owner of the data folder. */
  readonly owner?: string;
  /** The identity that git uses in its folder. */
  readonly identity?: string;
}

/** `GET /api/sessions/ID` */
export interface SessionDetail {
  readonly row: SessionRow;
  /** The last plan: ACP `plan` entries. */
  readonly plan: readonly PlanEntry[];
  /** As ACP has them (`session/new` result); empty until the session is open somewhere. */
  readonly settings: {
    readonly modes?: Readonly<{ currentModeId: string; availableModes: readonly NamedMode[] }>;
    readonly models?: Readonly<{ currentModelId: string; availableModels: readonly NamedModel[] }>;
    readonly configOptions?: readonly ConfigOption[];
  };
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly asks: readonly AskRow[];
  /** Whether its agent keeps what `undo` needs. */
  readonly canUndo: boolean;
}

/** `GET /api/sessions/ID/undo`: what undo and redo would do now; absent where there is nothing to do. */
export interface UndoPreview {
  readonly undo?: UndoneTurn;
  readonly redo?: UndoneTurn;
}
export interface UndoneTurn {
  /** Files that are restored, unless they were changed since. */
  readonly files: readonly string[];
  /** Commands that ran in the turn, whose other effects stay. */
  readonly commands: readonly string[];
}

export interface NamedMode {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
}
export interface NamedModel extends Omit<NamedMode, "id"> {
  readonly modelId: string;
}
/** ACP session-config-options. */
export interface ConfigOption {
  readonly id: string;
  readonly name: string;
  readonly category?: string;
  readonly type: string;
  readonly currentValue: unknown;
  readonly options?: readonly unknown[];
}
export interface PlanEntry {
  readonly content: string;
  readonly priority?: string;
  readonly status: string;
}

/** A question to a person that nobody has answered yet. */
export interface AskRow {
  /** For `POST /api/sessions/ID/answer`. */
  readonly id: string;
  readonly kind: "permission" | "question";
  readonly at: number;
  /** Permission: the tool call as ACP has it (`title`, `kind`, `content` with diffs, `rawInput`). */
  readonly toolCall?: Readonly<Record<string, unknown>>;
  readonly options?: readonly Readonly<{ optionId: string; name: string; kind: string }>[];
  /** Question: ACP `elicitation/create` parameters (`message`, `requestedSchema`, `mode`, `url`). */
  readonly question?: Readonly<Record<string, unknown>>;
}

/**
 * `GET /api/sessions/ID/events?from=SEQ&limit=N` (oldest first, from number SEQ on) or
 * `?before=SEQ&limit=N` (the N events before SEQ; without a number, the last ones). Always in order.
 */
export interface EventLog {
  readonly session: string;
  readonly events: readonly LogEvent[];
  /** Number of the last event that the session has. */
  readonly last: number;
}

/** An event of the log: `message` is `SessionEvent` of `src/session/event.ts`. */
export type LogEvent = StoredEvent;

/**
 * `GET /api/sessions/ID/traffic?from=N&limit=N`: the messages that passed, as far as the ring has them.
 * `GET /api/sessions/ID/traffic/N` → `{text}`: the raw text of one, secrets masked.
 * Live: ask again with `from` = the last number + 1 while the page shows it.
 */
export interface Traffic {
  readonly rows: readonly TrafficRow[];
  /** Number of the first message that is still kept, and of the last one. */
  readonly first: number;
  readonly last: number;
  /** Why there is nothing, in words: another process has the session, or it was not open here. */
  readonly missing?: string;
}

export interface TrafficRow {
  readonly n: number;
  readonly at: number;
  /** client: an editor or program ↔ Trunkline. agent: Trunkline ↔ the agent. stderr: a line of the agent. */
  readonly lane: "client" | "agent" | "stderr";
  /** Who: the editor's name or the agent's. */
  readonly peer: string;
  /** From Trunkline's view. */
  readonly direction: "in" | "out";
  readonly kind: "request" | "response" | "error" | "notification" | "line";
  /** Of a response: that of its request. */
  readonly method?: string;
  /** For `session/update`: the kind of update, by which runs of chunks fold. */
  readonly update?: string;
  readonly id?: string;
  /** Number of the paired request or response. */
  readonly pair?: number;
  /** Of a response: milliseconds since its request. */
  readonly latency?: number;
  /** Characters. */
  readonly size: number;
  /** Of a `line`: its text. */
  readonly text?: string;
}

/** `GET /api/sessions/ID/files`: what the session changed. */
export interface ChangedFiles {
  /** "git": against the revision at its start; "journal": against what the agent recorded for undo. */
  readonly against: "git" | "journal" | "none";
  readonly base?: string;
  readonly files: readonly ChangedFile[];
  /** Why nothing can be shown, or what is left out. */
  readonly says?: string;
}
export interface ChangedFile {
  readonly path: string;
  readonly change: "added" | "modified" | "deleted" | "renamed";
  readonly from?: string;
  readonly added: number;
  readonly removed: number;
  readonly isBinary?: boolean;
}
/** `GET /api/sessions/ID/diff?path=PATH` and `GET /api/runs/ID/diff[?path=PATH]` */
export interface FileDiff {
  readonly path: string;
  /** A unified diff, as git prints it; cut after 1 MB. */
  readonly diff: string;
  readonly isCut: boolean;
}

/**
 * `GET /api/sessions/ID/why?file=PATH&line=N[&side=old]`, of a file that the session has changed, and
 * `GET /api/threads/ID/why`, of the first commented line: who wrote it, as names and values.
 */
export interface LineWhy {
  readonly rows: readonly (readonly [name: string, value: string])[];
  /** The session that wrote it, where the principal may see it. */
  readonly session?: string;
}

/**
 * Needs `sessions`:
 * - `POST /api/sessions/ID/prompt` `PromptBody` → `Done`, as soon as it is accepted; events tell the rest.
 * - `POST /api/sessions/ID/cancel` → `Done`
 * - `POST /api/sessions/ID/answer` `AnswerBody` → `Done`; 409 where somebody else answered before.
 * - `POST /api/sessions/ID/setting` `SettingBody` → `{settings}` as in `SessionDetail`
 * - `POST /api/sessions/ID/undo` and `…/redo` → `Done`: `/undo` and `/redo` of the built-in agent.
 * Needs `review`: `POST /api/sessions/ID/comment` `CommentBody` → `ThreadRow`
 * Needs `admin`, and the session has to be the person's own:
 * - `GET /api/sessions/ID/move` → `{stays}`: what a move leaves here.
 * - `POST /api/sessions/ID/move` `MoveBody` → `{says}`
 * Reading: `GET /api/sessions/ID/export?format=ndjson|html`: a download.
 */
export type {
  AnswerBody,
  CommentBody,
  NewRun,
  MoveBody,
  NewSession,
  PromptBody,
  PromptImage,
  SettingBody,
} from "./schema.gen.ts";

/* ------------------------------------------------------------------------------- beginning something */

/**
 * All of these need `sessions`, and a token that does more than observe:
 * - `GET /api/start/agents` → `{agents}`: those that the principal may use, the default one first.
 * - `GET /api/start/folders[?path=PATH]` → `FolderPage`: the folders in a folder; without a path, where to begin.
 * - `GET /api/start/files?folder=PATH&q=TEXT` → `{files}`: names of files for `@` in a prompt.
 * - `POST /api/sessions` `NewSession` → `IdAnswer`, as soon as the prompt is accepted. Where something of it
 *   fails, the session is deleted again.
 * - `POST /api/runs` `NewRun` → `IdAnswer`: what `trunkline run` does, on this server.
 */
export interface AgentChoice {
  readonly name: string;
  /** What it offered when it was last started; empty where it never was. */
  readonly settings: SessionDetail["settings"];
  /** False where it said that it takes no images. */
  readonly takesImages: boolean;
}
export interface FolderPage {
  /** Empty where the principal may see several folders, which are listed. */
  readonly path: string;
  /** The folder above, where the principal may see that. */
  readonly parent?: string;
  readonly folders: readonly Readonly<{ name: string; path: string; isRepository: boolean }>[];
  /** There are more than are listed. */
  readonly isCut: boolean;
}
export interface IdAnswer {
  /** Of the session; a run has the same. */
  readonly id: string;
}
