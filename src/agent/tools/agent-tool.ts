import type { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import type { TraceCarrier } from "../../base/trace.ts";
import type { TurnClient } from "../../session/agent.ts";
import type { PermissionSubject } from "../../session/permission/permission.ts";
import type { Arguments, JsonSchema } from "../../tool/tool.ts";
import type { BackgroundCommands } from "../background/background-commands.ts";
import type { IdentityLookup } from "../command-environment.ts";
import type { CommandSandbox } from "../files/command-sandbox.ts";
import type { TurnFiles } from "../files/turn-files.ts";
import type { WorkspacePath } from "../files/workspace.ts";
import type { ToolAccess } from "../modes.ts";

/** ACP tool-calls: the kind that editors show. */
export type ToolKind =
  | "read"
  | "edit"
  | "search"
  | "execute"
  | "think"
  | "fetch"
  | "switch_mode"
  | "other";

/** ACP tool-calls § Content: text, a diff or a terminal. */
export type ShownContent = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface Location {
  readonly path: string;
  readonly line?: number;
}

/** A tool that a model can call. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** The arguments of a typical call, for the model. */
  readonly example?: Arguments;
  readonly kind: ToolKind;
  readonly need: ToolAccess;
  /** The group that it is offered with; without one, it is always offered. */
  readonly group?: string | undefined;
  /** Whether it is of use now; by default it always is. */
  readonly fits?: () => boolean;
  /** Whether a call can run beside others; by default if it needs no permission and reads or searches. */
  readonly onlyReads?: (args: Arguments) => boolean;
  /** Milliseconds; time spent waiting for a person does not count. */
  readonly timeout?: number;
  /** The name under which hooks see it, if another. If there is an `input`, hooks cannot change its arguments. */
  readonly hooked?: { readonly name: string; readonly input?: Arguments } | undefined;
  /** Short title of a call. The arguments are not validated yet. */
  title(args: Arguments): string;
  call(args: Arguments, work: ToolWork): Promise<ToolAnswer>;
}

export interface ToolAnswer {
  /** For the model. */
  readonly text: string;
  readonly isError?: boolean;
  /** For people; by default the text. */
  readonly content?: readonly ShownContent[];
  readonly locations?: readonly Location[];
  readonly images?: readonly { readonly data: string; readonly mimeType: string }[];
}

/** A request for consent. A person must see all of it, or the call fails. */
export interface ConsentRequest {
  readonly title?: string;
  /** What an "always" answer is remembered for. Without it, "always" is not offered. */
  readonly subject?: PermissionSubject;
  /** The subject in words for people. */
  readonly covers?: string;
  /** All that is about to be done; by default the arguments. */
  readonly content?: readonly ShownContent[];
  readonly locations?: readonly Location[];
  /** Whether a person has to answer it, whatever they said yes to before (`--yes`). */
  readonly needsPerson?: boolean;
  /** A change of a file that a mode may accept without a question. */
  readonly isPlainEdit?: boolean;
}

/** A question with a few answers, which every client can show. */
export interface Choice {
  readonly title: string;
  readonly content: readonly ShownContent[];
  readonly options: readonly { readonly name: string; readonly isNo?: boolean }[];
}

/** The context of a running tool. */
export interface ToolWork {
  readonly files: TurnFiles;
  readonly client: TurnClient;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly sessionId: string;
  /** The id under which clients see the call. */
  readonly toolCallId: string;
  /** Who gave the prompt. */
  readonly principal: Principal;
  /** The hooks that have run for the call. */
  readonly hooksRan?: Set<string>;
  /** Where the trace of the turn continues, if it is traced. */
  readonly trace?: Partial<TraceCarrier> | undefined;
  /** Finds the identity for git. */
  readonly actsAs?: IdentityLookup | undefined;
  /** Where commands run; without it, they run as they are. */
  readonly sandbox?: CommandSandbox | undefined;
  /** Finds out what a change of files has broken. */
  readonly diagnostics?: EditCheck | undefined;
  /** The commands that go on after their call. */
  readonly background: BackgroundCommands;
  /** Updates what is shown of the call. */
  readonly show: (shown: {
    readonly title?: string;
    readonly content?: readonly ShownContent[];
    readonly locations?: readonly Location[];
  }) => Promise<void>;
  /** Waits for consent. Throws `CallRejectedError` if the person rejects it. */
  readonly allow: (consent: ConsentRequest) => Promise<void>;
  /** Waits until a person chooses; no mode and no rule answers for them. The index; undefined if they chose nothing. */
  readonly choose: (choice: Choice) => Promise<number | undefined>;
  plan(entries: readonly Readonly<Record<string, unknown>>[]): Promise<void>;
  /** Reports progress without an update. */
  progressed(): void;
}

/** What changes of files have broken. */
export interface EditCheck {
  /** The new errors as text; empty if there are none. Errors that are found later go with the next call's answer. */
  after(
    changes: readonly {
      readonly target: WorkspacePath;
      readonly old: string | undefined;
      readonly text: string | undefined;
    }[],
    work: Pick<ToolWork, "allow" | "files">,
  ): Promise<string>;
}

/** The person rejected a call. */
export class CallRejectedError extends Error {
  override readonly name = "CallRejectedError";
}

export function textContent(text: string): ShownContent {
  return { type: "content", content: { type: "text", text } };
}

/** The JSON schema of an object without further members. */
export function inputOf(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): JsonSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

/** The beginning of a text for the model, with a note of how much follows. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most)}\n(${text.length - most} characters more.)`;
}
