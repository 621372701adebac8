import { attempt } from "../base/attempt.ts";
import { LinearExpression } from "../base/text/linear-expression.ts";
import type { HookAnswer } from "./hook-answer.ts";
import type { MatchedHooks, ToolHook } from "../config/schema/schema.gen.ts";
import { READY_MADE } from "./ready-made.ts";

/** When hooks run, with the names of Claude Code. */
export const HOOK_EVENTS = [
  "PreToolUse",
  "PostToolUse",
  "UserPromptSubmit",
  "Stop",
  "SessionStart",
] as const;

export type HookEvent = (typeof HOOK_EVENTS)[number];

/** A hook in the configuration: a command for an agent's session, or anything for a gateway's calls. */
export type HookEntry = Omit<ToolHook, "type" | "what"> & {
  readonly type?: string;
  readonly what?: readonly string[];
};

/** By event. Members that are not known are kept. */
export type HookSettings = Readonly<
  Record<string, readonly (Pick<MatchedHooks, "matcher"> & { hooks?: readonly HookEntry[] })[]>
>;

/** Where a hook is configured: by the user, by the project, or by the gateway for all its calls. */
export type HookSource = "user" | "project" | "gateway";

/** A command, an address or something ready-made that runs at an event. */
export interface Hook {
  readonly event: HookEvent;
  readonly source: HookSource;
  /** The command line, the address, or the name and the settings of what is ready-made. */
  readonly command: string;
  /** Set for a hook that is asked over HTTP. */
  readonly http?: {
    readonly url: URL;
    readonly headers: Readonly<Record<string, string>>;
    readonly allowPrivate: boolean;
  };
  /** Set for a hook that needs no program: computes its answer from its input and the principal. */
  readonly answers?: (
    told: Readonly<Record<string, unknown>>,
    by: string | undefined,
  ) => HookAnswer;
  /** Milliseconds. */
  readonly timeout: number;
  readonly onFailure: "block" | "continue" | undefined;
  /** Whether one of the names of a tool fits. */
  fits(names: readonly string[]): boolean;
}

/** Seconds. A call of a gateway waits for its hooks. */
const TIMEOUT: Readonly<Record<HookSource, number>> = { user: 60, project: 60, gateway: 10 };

/** Members of all hooks that run elsewhere. */
const RUNNING = ["type", "timeout", "onFailure", "statusMessage"] as const;

/** The members that each type may have. Others are refused, since they would have no effect. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  command: ["command", ...RUNNING],
  http: ["url", "headers", "allowPrivate", "allowedEnvVars", ...RUNNING],
  mask: ["type", "what"],
  size: ["type", "most"],
  rate: ["type", "calls", "seconds"],
};

const WHOSE: Readonly<Record<HookSource, string>> = {
  user: "Your",
  project: "The project's",
  gateway: "The gateway's",
};

/** What is wrong with hooks, where in their settings, and why in short. */
type TellProblem = (
  says: string,
  at: { readonly path: readonly (string | number)[]; readonly why: string },
) => void;

/** The hooks of a configuration. Leaves out each that cannot run as it is meant, and tells `problem` why. */
export function readHooks(
  settings: HookSettings,
  source: HookSource,
  problem: TellProblem,
): Hook[] {
  const whose = WHOSE[source];
  return Object.entries(settings).flatMap(([event, groups]) => {
    if (!isEvent(event)) {
      const why = "there is no such event here";
      problem(`${whose} hooks for '${event}' do not run: ${why}`, { path: [event], why });
      return [];
    }
    return groups.flatMap(({ matcher = "", hooks = [] }, group) => {
      return hooks.flatMap((entry, index): Hook[] => {
        let path = [event, group, "matcher"] as (string | number)[];
        try {
          const fits = matching(matcher);
          path = [event, group, "hooks", index];
          const why = whyNot(entry, source);
          if (why !== undefined) throw new SyntaxError(why);
          const timeout = (entry.timeout ?? TIMEOUT[source]) * 1000;
          // A gateway's hook that fails denies the call, whatever the failure.
          const onFailure = entry.onFailure ?? (source === "gateway" ? "block" : undefined);
          return [{ event, source, timeout, onFailure, fits, ...workOf(entry) }];
        } catch (error) {
          const { message } = error as Error;
          const { command = "" } = entry;
          const what = command === "" ? (entry.type ?? "without a command") : command;
          const says = `${whose} hook for ${event} does not run (${what}): ${message}`;
          problem(says, { path, why: message });
          return [];
        }
      });
    });
  });
}

function isEvent(name: string): name is HookEvent {
  return (HOOK_EVENTS as readonly string[]).includes(name);
}

/** Why a hook cannot be run as it is meant. */
function whyNot(entry: HookEntry, source: HookSource): string | undefined {
  const { type = "command", command = "" } = entry;
  if (type !== "command" && (source !== "gateway" || !Object.hasOwn(KNOWN, type))) {
    return `only hooks of the type 'command' are run, not '${type}'`;
  }
  if (type === "command" && command.trim() === "") return "it has no command";
  const unknown = Object.keys(entry).find((key) => KNOWN[type]?.includes(key) !== true);
  return unknown === undefined ? undefined : `'${unknown}' is not known here`;
}

/** What a hook does. Throws if its settings do not say that. */
function workOf(entry: HookEntry): Pick<Hook, "command" | "http" | "answers"> {
  const { type = "command", command = "", url = "", headers = {}, allowPrivate = false } = entry;
  if (type === "command") return { command };
  const ready = READY_MADE[type];
  if (ready !== undefined) return ready(entry);
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new SyntaxError("its 'url' must begin with https:// or http://");
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new SyntaxError("leave the password out of its 'url', and give it in 'headers'");
  }
  return { command: parsed.href, http: { url: parsed, headers, allowPrivate } };
}

/** Throws for an expression that could take long. */
function matching(matcher: string): Hook["fits"] {
  if (matcher === "" || matcher === "*") return () => true;
  const expression = attempt(() => new LinearExpression(`^(?:${matcher})$`));
  if (expression === undefined) {
    throw new SyntaxError(`'${matcher}' is no regular expression, or one that could take long`);
  }
  return (names) => names.some((name) => expression.test(name));
}
