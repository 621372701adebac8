/**
 * The JSON API of the dashboard, under `/api/` of `trunkline serve`. Types only: the server and the
 * browser application both import them, and this file is the description of the API.
 *
 * - Access: the cookie of a browser that was let in (`trunkline open`), or `Authorization: Bearer …`.
 *   Reading needs the scope `dashboard`. What changes something needs the scope that is named at the
 *   endpoint, too. A principal sees only what it may use.
 * - Every POST has `content-type: application/json` and comes from a page of the same origin. The body
 *   is a JSON object, `{}` where the endpoint takes nothing.
 * - An error has a status of 400 or more and the body `Problem`. 401: the page has to be opened anew.
 * - Times are milliseconds since 1970. A list has a `next` cursor until its last page: `?cursor=next`.
 * - Secrets are masked as `•••` wherever a value could be one.
 *
 * Endpoints of sessions are in `session-api.ts`, those of the fleet in `fleet-api.ts`.
 */

import type { PluginStatus } from "../../plugin/plugin/plugin.ts";
import type { NoticeReason } from "../../session/notice.ts";
import type { DeliveryState } from "../../store/notify/notify-store.ts";
import type { AccessToken } from "../../store/schema.gen.ts";
import type { Severity, ThreadState } from "../../store/review/review-thread.ts";
import type { AskRow, ChangedFile, EventLog, SessionRow } from "./session-api.ts";

/** The body of every answer with a status of 400 or more. */
export interface Problem {
  /** What could not be done, and what to do next. To be shown to the person. */
  readonly error: string;
}

export interface Page<T> {
  readonly rows: readonly T[];
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string;
}

/** The answer of a POST that has no result. */
export interface OkAnswer {
  readonly ok: true;
}

export interface RevokedToken extends OkAnswer {
  /** False while other gateways of the fleet still accept the token, since they cannot be told yet. */
  readonly isShared: boolean;
}

/* ------------------------------------------------------------------------------------- live events */

/**
 * `GET /api/events[?last=ID][&session=SESSION&after=SEQ]`: server-sent events, one stream for a page.
 * Every event has an id. `Last-Event-ID` (or `last`, for a page that changes the query) resumes after
 * it. The event name is `LiveEvent["event"]`, its data the JSON of `LiveEvent["data"]`. Rows are
 * coalesced: of several changes of a row, a late reader gets the last one.
 *
 * With `session`, the stream also has the events of that session after number `after` (`session-events`);
 * the id remembers how far they were read, so a reconnecting EventSource goes on where it was.
 */
export type LiveEvent =
  /** The first event of every connection. Another `epoch` than before: the server was restarted. */
  | { readonly event: "hello"; readonly data: Hello }
  /** Events were missed: load everything shown again, then go on with this stream. */
  | { readonly event: "reset"; readonly data: { readonly why: string } }
  | { readonly event: "session"; readonly data: Change<SessionRow> }
  | { readonly event: "run"; readonly data: Change<RunRow> }
  | { readonly event: "thread"; readonly data: Change<ThreadRow> }
  | { readonly event: "server"; readonly data: Change<ServerRow> }
  | { readonly event: "plugin"; readonly data: Change<PluginRow> }
  | { readonly event: "approval"; readonly data: Change<ApprovalRow> }
  | { readonly event: "calls"; readonly data: Change<ToolCalls> }
  | { readonly event: "overview"; readonly data: Change<Overview> }
  | { readonly event: "trouble"; readonly data: Change<Alert> }
  /** Events of the session that the stream was opened for, in order, without gaps. */
  | { readonly event: "session-events"; readonly data: EventLog }
  /** What is asked in that session at this moment. Replaces the former list. */
  | { readonly event: "session-asks"; readonly data: { readonly asks: readonly AskRow[] } };

/** A row was added or changed, or (`row` is null) is gone. */
export interface Change<T> {
  readonly id: string;
  readonly row: T | null;
}

export interface Hello {
  readonly epoch: string;
  readonly version: string;
}

/** A message for people that belongs to no row. */
export interface Alert {
  readonly id: string;
  readonly at: number;
  readonly level: "warn" | "error";
  readonly says: string;
  /** The session that it is about. */
  readonly session?: string;
}

/* ------------------------------------------------------------------------------ overview and person */

/** `GET /api/me` */
export interface CurrentPrincipal {
  /** How the principal is called; "owner" for the owner of the data folder. */
  readonly name: string;
  /**
   * What it may do: `tools`, `sessions`, `programs`, `review`, `dashboard`; `admin`, if it is limited to no
   * part of what there is.
   */
  readonly scopes: readonly string[];
  /** It may only read. */
  readonly observes: boolean;
  readonly version: string;
  readonly epoch: string;
  /** The pool of the fleet that the server belongs to, where the principal may see it. */
  readonly fleet?: string;
  /**
   * What a person types on the machine of the gateway instead of `trunkline`, which is not in its PATH
   * or would use other files. Only principals that may use everything get it.
   */
  readonly program?: string;
}

/** `GET /api/overview`: the start page. */
export interface Overview {
  readonly steps: readonly OverviewStep[];
  /** `down`: servers that should run and do not. */
  readonly counts: Readonly<Record<"threads" | "approvals" | "down", number>>;
  /** The addresses for other programs. */
  readonly urls: { readonly mcp: string; readonly acp: string };
}

export interface OverviewStep {
  readonly id: "assistant" | "editor" | "agent" | "server" | "identity";
  readonly isDone: boolean;
  /** The evidence that the step is done: "Claude Code", "2 servers". Absent until then. */
  readonly says?: string;
  /** When it was last seen; absent while it is connected. */
  readonly at?: number;
  /** Some of it does not work, as `says` tells. */
  readonly isBroken?: boolean;
  /** Exact commands, the most likely first. */
  readonly commands: readonly { readonly run: string; readonly explains: string }[];
}

/* ------------------------------------------------------------------------------------- remote runs */

/** `GET /api/runs/ID/patch`: everything that it has changed, for `git apply`. */
export interface RunPatch {
  readonly patch: string;
}
/**
 * `GET /api/runs[?cursor=]` → `Page<RunRow>`, `GET /api/runs/ID` → `RunDetail`. The scope `sessions` is
 * enough for one run. The id is that of its session, or the beginning of one; the session's endpoints (events, prompt, cancel, answer, export) hold for it too.
 */
export interface RunRow extends Pick<
  SessionRow,
  "id" | "title" | "agent" | "cost" | "created" | "updated" | "last"
> {
  /** The address of the repository, without a password. */
  readonly repository: string;
  /** The branch and revision that the work began with. */
  readonly branch: string;
  readonly revision: string;
  /** The branch that is pushed, and its commit; `pushed` is absent until the first push. */
  readonly target: string;
  readonly pushed?: string;
  /** What fetches the pushed branch, for a shell. */
  readonly fetch?: string;
  readonly pullRequest?: string;
  readonly stage: "queued" | "preparing" | "working" | "waiting" | "pushed" | "failed" | "idle";
  /** Position in the queue, from 1. */
  readonly position?: number;
  /** The last message about its progress. */
  readonly says?: string;
}
export interface RunDetail {
  readonly row: RunRow;
  /** What happened: fetching, set-up, queue, commits, pushes. */
  readonly log: readonly { readonly at: number; readonly says: string }[];
  readonly files: readonly Pick<ChangedFile, "path" | "added" | "removed">[];
  /** The log of its set-up, if that failed; the end of a long one. */
  readonly setup?: string;
  /** Why no diff can be shown. */
  readonly missing?: string;
}

/* ------------------------------------------------------------------------------------------ review */

/**
 * `GET /api/threads[?cursor=][&limit=]` → `Page<ThreadRow>`,
 * `GET /api/threads/ID` → `ThreadDetail`. Needs `review`: `POST /api/threads/ID/reply` `{text}`,
 * `…/resolve` `{text?}`, `…/reopen` `{text?}` → `ThreadRow`.
 */
export interface ThreadRow {
  readonly id: string;
  readonly repository: { readonly name: string; readonly root: string; readonly gitDir: string };
  readonly path: string;
  readonly side: "old" | "new";
  readonly line?: number;
  readonly end?: number;
  readonly severity: Severity;
  readonly comment: string;
  readonly state: ThreadState;
  readonly by: string;
  /** The agent that has claimed it. */
  readonly claimedBy?: string;
  /** The session whose diff it comments on, where it was made on this page. */
  readonly session?: string;
  readonly at: number;
  readonly updated: number;
}
export interface ThreadDetail {
  readonly row: ThreadRow;
  readonly quote?: readonly string[];
  readonly events: readonly {
    readonly seq: number;
    readonly kind: string;
    readonly at: number;
    readonly by: string;
    readonly role: "person" | "agent";
    readonly text?: string;
    readonly diff?: string;
    readonly commit?: string;
  }[];
}

/* -------------------------------------------------------------------------------------- identities */

/** `GET /api/identities`. Only the owner and principals with `admin` see them. */
export interface Identities {
  readonly identities: readonly IdentityRow[];
  /** Folders of sessions, and which identity git uses there. */
  readonly projects: readonly ProjectIdentity[];
}
/** `POST /api/identities/switch` `{identity, folder}`. */
export interface IdentitySwitched {
  /** False where the repository had it already. */
  readonly isChanged: boolean;
  readonly notes: readonly string[];
  readonly files: readonly string[];
}
/** `POST /api/identities` `{name, provider, user, email, …}` → `{name}`: the options of `identity add`. */
export interface IdentityRow {
  readonly name: string;
  readonly provider: string;
  readonly host: string;
  readonly user: string;
  readonly email: string;
  readonly sshKey?: string;
  readonly signing: string;
  /** Whether a token is kept for it; never the token. */
  readonly hasToken: boolean;
  /** When it expires, if that is within two weeks or over. */
  readonly tokenExpires?: string;
}
export interface ProjectIdentity {
  readonly folder: string;
  readonly identity?: string;
  readonly email?: string;
  /** Whether the guard's hooks refuse commits and pushes under another identity. */
  readonly guard: "on" | "off" | "broken" | "unknown";
  readonly says?: string;
  readonly sessions: number;
}

/* --------------------------------------------------------------------------------- tools and calls */

/** `GET /api/tools` → `{tools}`. `POST /api/tools/policy` `{tool, decision}` needs `admin` → `ToolRow`. */
export interface ToolRow {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** The server or plugin that it comes from; absent for our own. */
  readonly server?: string;
  /** What a tool of our own is for. */
  readonly purpose?: string;
  readonly policy: Policy;
  /** The rule that decides, where one of the configuration does. */
  readonly rule?: string;
  readonly isReadOnly?: boolean;
  readonly isHeld?: boolean;
}
export type Policy = "allow" | "ask" | "deny";

/** `GET /api/tools/:name/definition`: what a tool takes, for who sees the tool. */
export interface ToolDefinition {
  readonly name: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** Why this principal cannot call it here; absent where it can. */
  readonly refusal?: string;
}

/**
 * `POST /api/tools/:name/call` `{arguments}` → lines of JSON, as they come. The call passes policy, limits
 * and audit as one over MCP does; closing the request cancels it. The first line names the call.
 * `POST /api/calls/:call/answer` `{question, answer}` answers a question of it → `OkAnswer`.
 */
export type ToolCallLine =
  | { readonly call: string }
  | { readonly progress: Readonly<{ done: number; total?: number; message?: string }> }
  /** A question to the person, as in MCP's elicitation, and that it is over. */
  | { readonly question: { readonly key: string } & Readonly<Record<string, unknown>> }
  | { readonly answered: string }
  /** The result as over MCP, or why there is none. */
  | { readonly result: Readonly<Record<string, unknown>> }
  | { readonly error: string }
  /** The entry of the call in the audit. */
  | { readonly audit: AuditRow };

/** `GET /api/approvals` → `{approvals}`. `POST /api/approvals/approve` `{id}` needs `admin` → `OkAnswer`; 409 where
 * the tool has changed since it was shown. */
export interface ApprovalRow {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  /** lookalike: its name can be taken for that of another tool, `like`. */
  readonly why: "new" | "changed" | "lookalike";
  readonly like?: string;
  readonly at: number;
  /** Unified diff of the description, from what was approved to what it is now. */
  readonly diff: string;
}

/** `GET /api/calls?minutes=60` → `{calls}`: calls of each tool, as far as this server has seen them. */
export interface ToolCalls {
  readonly tool: string;
  readonly calls: number;
  readonly errors: number;
  /** Milliseconds, of the calls in the window. */
  readonly p50: number;
  readonly p95: number;
  /** One entry a minute that had calls, oldest first: [minute since 1970, calls, errors, mean ms]. */
  readonly series: readonly (readonly [number, number, number, number])[];
}

/* ------------------------------------------------------------------------------------------ agents */

/**
 * `GET /api/agents` → `OfferedAgents`. `POST /api/agents/add` `OfferedAgent` needs `admin` and `programs` →
 * `AddedAgent`; 409 where it is not offered any more, or would run something else than was shown.
 */
export interface OfferedAgents {
  /** Agents that are installed; none where the agent of new sessions has a model. */
  readonly agents: readonly OfferedAgent[];
  /** Whether the principal may add one. */
  readonly mayAdd: boolean;
}
export interface OfferedAgent {
  readonly name: string;
  /** What was found of it. */
  readonly path: string;
  /** What is started for it. */
  readonly runs: string;
  /** What adds it in a terminal. */
  readonly command: string;
}
export interface AddedAgent extends OkAnswer {
  /** The file that it was added to. */
  readonly file: string;
  /** Why the change may not do what was meant. */
  readonly notes: readonly string[];
}

/* -------------------------------------------------------------------------- upstreams and plugins */

/**
 * `GET /api/servers` → `{servers}`. `POST /api/servers/NAME/restart` needs `admin` → `OkAnswer`, as do:
 * `POST /api/servers` `{name, words, env?, headers?}` (a command line as a list, or one URL) and
 * `POST /api/servers/NAME/remove` → `{file, notes}`; `POST /api/servers/NAME/test` → `ServerTested`.
 * To name a program needs the scope `programs` too.
 */
export interface ServerRow {
  readonly name: string;
  /** `idle`: it is started when it is first needed. */
  readonly state: "up" | "starting" | "down" | "idle";
  readonly says?: string;
  readonly tools: number;
  /** The command or the address, with secrets masked. */
  readonly where: string;
  /** It has an address, and no credentials of its own: a person can log in to it. */
  readonly canLogIn?: true;
  readonly log: readonly string[];
}
export interface ServerTested {
  readonly works: boolean;
  readonly why?: string;
  readonly milliseconds: number;
  readonly tools: readonly string[];
  readonly held: readonly string[];
  readonly log: readonly string[];
}
/** `GET /api/plugins` → `{plugins}`. `POST /api/plugins/ID/restart` needs `admin` → `OkAnswer`. */
export type PluginRow = { readonly log: readonly string[] } & Pick<
  PluginStatus,
  "id" | "state" | "health" | "tools" | "restarts" | "calls" | "waiting" | "limits" | "lastError"
>;

/* ------------------------------------------------------------------------------- audit and tokens */

/**
 * `GET /api/audit?q=TEXT&tool=TEXT&who=TEXT&outcome=BEGINNING&from=TIME&to=TIME&cursor=&limit=` →
 * `Page<AuditRow>`, newest first. `q` is looked for in the line.
 */
export interface AuditRow {
  readonly id: string;
  readonly time: string;
  /** `call`, or the event that it records, such as `permission`. */
  readonly event: string;
  /** The tool; of a permission, what was permitted. */
  readonly tool?: string;
  /** Who called; of a permission, who answered. */
  readonly caller?: string;
  readonly door?: string;
  readonly session?: string;
  readonly project?: string;
  readonly outcome?: string;
  readonly reason?: string;
  readonly milliseconds?: number;
  /** The whole entry, masked when it was recorded. */
  readonly entry: Readonly<Record<string, unknown>>;
}

/**
 * `GET /api/notifications` → `{deliveries}`: the last notifications to each receiver, the newest first.
 * Others than the owner see none.
 */
export interface DeliveryRow {
  readonly id: string;
  readonly reason: NoticeReason | "test";
  readonly session?: string | undefined;
  readonly receiver: string;
  /** "delivered": the receiver, or its push service, has accepted it. */
  readonly state: DeliveryState;
  readonly time: string;
  readonly attempts: readonly { readonly time: string; readonly result: string }[];
  /** The result of the last attempt, or why there was none. */
  readonly result?: string | undefined;
  /** When it is tried again. */
  readonly next?: string | undefined;
}

/**
 * `GET /api/logins` → `{logins}`: at MCP servers, of the person who asks; the owner gets those of all.
 * `POST /api/logins/ID/end` → `EndedLogin`.
 */
export interface LoginRow {
  readonly id: string;
  readonly person: string;
  /** The server, or the identity provider that speaks for the person at several. */
  readonly server: string;
  readonly state: string;
  readonly issuer: string;
}
export interface EndedLogin extends OkAnswer {
  /** Where tokens may be good until they expire, and why. */
  readonly problems: readonly string[];
}

/**
 * Needs `admin`: `GET /api/tokens` → `{tokens}`, `POST /api/tokens` `NewToken` → `{token, row}` (the
 * secret is in this answer only), `POST /api/tokens/ID/revoke` → `RevokedToken`.
 */
export interface TokenRow extends Pick<
  AccessToken,
  "id" | "name" | "scopes" | "limits" | "profile" | "maker"
> {
  readonly created: number;
  readonly expires?: number;
  readonly used?: number;
  readonly isExpired: boolean;
}
