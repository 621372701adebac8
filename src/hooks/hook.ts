import { LinearExpression } from "../base/text/linear-expression.ts";

/** When hooks run, with the names of Claude Code. */
export const HOOK_EVENTS = [
  "PreToolUse",
  "PostToolUse",
  "UserPromptSubmit",
  "Stop",
  "SessionStart",
] as const;

export type HookEvent = (typeof HOOK_EVENTS)[number];

/** As the configuration has them, by event. Members that are not known are kept. */
export type HookSettings = Readonly<Record<string, readonly MatchedHooks[]>>;

interface MatchedHooks {
  readonly matcher?: string | undefined;
  readonly hooks?: readonly HookEntry[] | undefined;
}

interface HookEntry {
  readonly type?: string | undefined;
  readonly command?: string | undefined;
  /** Seconds. */
  readonly timeout?: number | undefined;
  readonly onFailure?: "block" | "continue" | undefined;
}

/** Who wrote a hook: the user, or the project that is worked on. */
export type HookSource = "user" | "project";

/** A command that runs at an event. */
export interface Hook {
  readonly event: HookEvent;
  readonly source: HookSource;
  readonly command: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly onFailure: "block" | "continue" | undefined;
  /** Whether one of the names of a tool fits. */
  fits(names: readonly string[]): boolean;
}

const TIMEOUT = 60;

/** Members that change nothing of what a hook does. */
const KNOWN: ReadonlySet<string> = new Set([
  "type",
  "command",
  "timeout",
  "onFailure",
  "statusMessage",
]);

/** The hooks of a configuration. One that cannot be run as it is meant is left out, and `problem` told why. */
export function readHooks(
  settings: HookSettings,
  source: HookSource,
  problem: (says: string) => void,
): Hook[] {
  const whose = source === "user" ? "Your" : "The project's";
  return Object.entries(settings).flatMap(([event, groups]) => {
    if (!isEvent(event)) {
      problem(`${whose} hooks for '${event}' do not run: there is no such event here`);
      return [];
    }
    return groups.flatMap(({ matcher = "", hooks = [] }) => {
      return hooks.flatMap((entry): Hook[] => {
        const { command = "", timeout = TIMEOUT, onFailure } = entry;
        try {
          const fits = matching(matcher);
          const why = whyNot(entry);
          if (why !== undefined) throw new SyntaxError(why);
          return [{ event, source, command, timeout: timeout * 1000, onFailure, fits }];
        } catch (error) {
          const { message } = error as Error;
          const what = command === "" ? (entry.type ?? "without a command") : command;
          problem(`${whose} hook for ${event} does not run (${what}): ${message}`);
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
function whyNot({ type = "command", command = "", ...rest }: HookEntry): string | undefined {
  if (type !== "command") return `only hooks of the type 'command' are run, not '${type}'`;
  if (command.trim() === "") return "it has no command";
  const unknown = Object.keys(rest).find((key) => !KNOWN.has(key));
  return unknown === undefined ? undefined : `'${unknown}' is not known here`;
}

/** Throws for an expression that could take long. */
function matching(matcher: string): Hook["fits"] {
  if (matcher === "" || matcher === "*") return () => true;
  const expression = new LinearExpression(`^(?:${matcher})$`);
  return (names) => names.some((name) => expression.test(name));
}
