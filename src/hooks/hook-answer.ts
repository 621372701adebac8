import { isObject, parsedJson } from "../base/check.ts";
import type { PostResult } from "../base/post.ts";
import type { Hook, HookEvent } from "./hook.ts";
import type { HookEnd } from "./run-hook.ts";

/** The answer of a hook. */
export interface HookAnswer {
  /** `deny` also stands for "not done yet" at the end of a turn, and for "look at this" after a call. */
  readonly decision?: "deny" | "ask" | undefined;
  readonly reason?: string | undefined;
  /** The arguments with which the call is to be made instead. */
  readonly input?: Readonly<Record<string, unknown>> | undefined;
  /** The result that is to be passed on instead. */
  readonly output?: HookOutput | undefined;
  /** For the model. */
  readonly context?: string | undefined;
  /** For the person. */
  readonly message?: string | undefined;
  /** The reason to end the turn, if the hook ends it. */
  readonly stop?: string | undefined;
  /** Why the hook failed. */
  readonly failure?: string | undefined;
}

/** A result as MCP has it. */
export interface HookOutput {
  readonly content: readonly ({ readonly type: string } & JsonMembers)[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

type JsonMembers = Readonly<Record<string, unknown>>;

/** Events whose plain output is for the model. */
const TOLD: ReadonlySet<HookEvent> = new Set(["SessionStart", "UserPromptSubmit"]);
/** The exit codes of a shell that cannot start a program. */
const NOT_STARTED: readonly unknown[] = [126, 127];
/**
 * Everything that Claude Code's hooks may decide. Allowing a call, or leaving the decision to others, has
 * no effect: a hook neither replaces a question nor overrides a policy.
 */
const DECISIONS: Readonly<Record<string, "deny" | "ask" | undefined>> = {
  deny: "deny",
  block: "deny",
  ask: "ask",
  allow: undefined,
  approve: undefined,
  defer: undefined,
};

/** Reads the end of a hook, in the shape of Claude Code. */
export function answerOf(hook: Hook, { exit, stdout, stderr, cut }: HookEnd): HookAnswer {
  if (cut === "late") return noAnswer(hook, `it took longer than ${hook.timeout / 1000} s`);
  if (cut === "long") return noAnswer(hook, "it wrote too much");
  if (exit === 2) return { decision: "deny", reason: stderr || "it gave no reason" };
  if (typeof exit === "string") return noAnswer(hook, `it was ended by ${exit}`);
  const why = stderr === "" ? "" : `: ${stderr}`;
  if (NOT_STARTED.includes(exit)) return noAnswer(hook, `it could not be started${why}`);
  if (exit !== 0) return failed(hook, `it ended with exit code ${exit}${why}`);
  const text = stdout.trim();
  if (!text.startsWith("{")) return TOLD.has(hook.event) && text !== "" ? { context: text } : {};
  return parsed(hook, text);
}

/** Reads the answer of a hook that was asked over HTTP: the same JSON, or nothing. */
export function answerTo(hook: Hook, { status, body }: Pick<PostResult, "status" | "body">) {
  // A redirect counts as a failure, too: only the configured address is asked.
  if (status < 200 || status > 299) return failed(hook, `it answered with status ${status}`);
  if (body === undefined) return noAnswer(hook, "it answered too much");
  // A page that is no answer, such as a login, must not count as consent.
  return body.trim() === "" ? {} : parsed(hook, body);
}

function parsed(hook: Hook, text: string): HookAnswer {
  const said = parsedJson(text);
  if (said === undefined) return failed(hook, "it wrote no valid JSON");
  return isObject(said) ? read(hook, said) : failed(hook, "it wrote JSON that is no object");
}

/** The answer for a hook that could not run. Before a call it denies the call, unless the hook's settings say otherwise. */
export function noAnswer(hook: Hook, failure: string): HookAnswer {
  const blocks = hook.event === "PreToolUse" && hook.onFailure !== "continue";
  return blocks ? { decision: "deny", reason: failure, failure } : failed(hook, failure);
}

/** The answer for a hook that reports its own failure. It has no effect, unless the hook's settings say otherwise. */
function failed({ event, source, onFailure }: Hook, failure: string): HookAnswer {
  const isBefore = event === "PreToolUse" || event === "UserPromptSubmit";
  if (onFailure !== "block" || !(isBefore || source === "gateway")) return { failure };
  return { decision: "deny", reason: failure, failure };
}

function read(hook: Hook, said: JsonMembers): HookAnswer {
  const { hookSpecificOutput, systemMessage, stopReason } = said;
  const own: JsonMembers = isObject(hookSpecificOutput) ? hookSpecificOutput : {};
  const named: unknown = own.permissionDecision ?? said.decision ?? "defer";
  if (typeof named !== "string" || !Object.hasOwn(DECISIONS, named)) {
    return noAnswer(hook, `it decided ${JSON.stringify(named).slice(0, 100)}, which is not known`);
  }
  const { updatedInput, updatedToolOutput, updatedMCPToolOutput } = own;
  const output = updatedToolOutput ?? updatedMCPToolOutput;
  const result = output === undefined ? undefined : resultOf(output);
  if (updatedInput !== undefined && !isObject(updatedInput)) {
    return noAnswer(hook, "its 'updatedInput' is no object");
  }
  if (output !== undefined && result === undefined) {
    return noAnswer(hook, "its 'updatedToolOutput' is neither text nor a result as MCP has it");
  }
  return {
    decision: DECISIONS[named],
    reason: textOf(own.permissionDecisionReason) ?? textOf(said.reason),
    input: updatedInput,
    output: result,
    context: textOf(own.additionalContext),
    message: textOf(systemMessage),
    stop: said.continue === false ? (textOf(stopReason) ?? "it gave no reason") : undefined,
  };
}

/** A changed result, which may be only its text or its content. */
function resultOf(output: unknown): HookOutput | undefined {
  if (typeof output === "string") return { content: [{ type: "text", text: output }] };
  const result = Array.isArray(output) ? { content: output as unknown } : output;
  if (!isObject(result) || !Array.isArray(result.content)) return undefined;
  const isContent = (result.content as unknown[]).every((part) => {
    return isObject(part) && typeof part.type === "string";
  });
  return isContent ? (result as unknown as HookOutput) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}
