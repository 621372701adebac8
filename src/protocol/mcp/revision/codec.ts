import type { Code } from "../../../rpc/codes.ts";
import type { ToolContext, ToolDefinition, ToolResult } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import type { KnownTask } from "../serve/task/known-task.ts";

export type Revision = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28";

/** The name and version of a client or a server, as each tells the other. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** How long a client may keep an answer, and who may share it (MCP 2026-07-28, server/utilities/caching). */
export interface Caching {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

/** The features of one revision. Code outside this folder asks for a feature, never for a revision. */
export interface Features {
  /**
   * A connection begins with `initialize`, and what was agreed there holds for all its requests.
   * Without it each request describes its client in `_meta`, and nothing is remembered.
   */
  readonly session: boolean;
  /** Several messages may be sent as one JSON array. */
  readonly batches: boolean;
  /** On HTTP, a server may close a stream before the answer, and the client comes back for it. */
  readonly polling: boolean;
  /** Arguments that a tool's schema marks with `x-mcp-header` are repeated in HTTP headers. */
  readonly headerParams: boolean;
  /**
   * A server asks by answering `input_required`, and the client calls again with what was asked for
   * (MCP 2026-07-28, basic/patterns/mrtr). Without it a server sends requests of its own, a page
   * to visit has an id, and -32042 names pages that must be visited before a call.
   */
  readonly inputRequired: boolean;
  /** An elicitation says whether it is a form or a page to visit. */
  readonly elicitationMode: boolean;
  /** `notifications/elicitation/complete` says that a page is done with. */
  readonly elicitationComplete: boolean;
  /** One error says that the client lacks a capability. Without it the model is told instead. */
  readonly missingCapabilityError: boolean;
  /** After its answer, nothing more may be told about a request. */
  readonly silenceAfterAnswer: boolean;
  /** Changes are heard of by `subscriptions/listen`. Without it: by subscribing to each resource. */
  readonly listening: boolean;
  /** Whose choice it is that a call goes on as a task; undefined where there are no tasks. */
  readonly tasks: "client's choice" | "server's choice" | undefined;
}

/**
 * Translates messages to one revision of MCP. Inside the program they have the shape of the newest
 * revision; a codec leaves out what its revision does not have. Codecs hold no state: all connections of
 * a revision share one.
 */
export interface Codec {
  readonly revision: Revision;
  /** Whether the handshake is `initialize` ("legacy") or `server/discover` ("modern"). */
  readonly era: "legacy" | "modern";
  readonly has: Features;
  /** Methods that we serve and this revision does not have. */
  readonly lacks: ReadonlySet<string>;
  /** The capabilities that our server declares. */
  readonly serverCapabilities: JsonObject;
  /** The error for a resource that does not exist. */
  readonly resourceNotFound: Code;

  // As a server:

  /** A tool in `tools/list`. */
  shapeTool(tool: ToolDefinition): JsonObject;
  shapeToolResult(result: ToolResult): JsonObject;
  /** The parameters of `notifications/progress`, without the token. */
  shapeProgress(
    progress: number,
    total: number | undefined,
    message: string | undefined,
  ): JsonObject;
  /** The result that is sent, made of its body. */
  shapeResult(body: JsonObject, server: Implementation, caching: Caching | undefined): JsonObject;
  /** The answer to a call that goes on as a task. */
  shapeNewTask(task: KnownTask): JsonObject;
  /** A task in the answer to `tasks/get` and in notifications. */
  shapeTask(task: KnownTask): JsonObject;
  /** Cancels a task. Returns the answer to `tasks/cancel`. */
  cancelTask(task: KnownTask): JsonObject;

  // As a client:

  /** The parameters of a call that ask for a task. */
  readonly taskParams: JsonObject;
  /** Whether a call was answered with a task. */
  isTask(params: JsonObject, result: JsonObject): boolean;
  /**
   * The members of `_meta` that describe us, and what can be asked of the context's caller. `ours` are
   * capabilities that we have ourselves, whoever the caller is.
   */
  requestMeta(
    info: Implementation,
    context: ToolContext | undefined,
    ours?: JsonObject,
  ): JsonObject | undefined;
}
