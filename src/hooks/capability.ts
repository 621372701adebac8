import { ANY_TEXT, byName, choice, list, number } from "../base/capability/settings.ts";
import type { Capability } from "../base/capability/capability.ts";
import type { Setting, Settings } from "../base/capability/settings.ts";

/** Open, so that what was written for Claude Code can be pasted: what is not understood is said, and not run. */
function pasted(name: string, description: string, properties: Settings): Setting {
  return { type: "object", "x-name": name, description, properties };
}

const hook = pasted("Hook", "A command that runs at an event.", {
  type: { ...ANY_TEXT, description: "`command`, the only kind that is run." },
  command: { ...ANY_TEXT, description: "Command line for `/bin/sh`." },
  timeout: number(
    "Seconds that it may take; 60 when left out. Then it is ended with all that it started.",
    { minimum: 0.1, maximum: 86_400 },
  ),
  onFailure: choice(
    ["block", "continue"],
    "What a failure means before a tool call or a prompt. When left out, a call does not happen if " +
      "the hook cannot be started, ends by a signal or takes too long; another exit code than 2 is " +
      "only reported.",
  ),
});

const matched = pasted("MatchedHooks", "Hooks for the tools that a matcher fits.", {
  matcher: {
    ...ANY_TEXT,
    description:
      "Regular expression for the whole name of a tool, such as `Bash` or `Edit|Write`; empty or " +
      "`*` for all. At `SessionStart`: `startup` or `resume`.",
  },
  hooks: list(hook, "The commands, in their order."),
});

/** Commands of the user and of projects that run at events, in the shape of Claude Code. */
export const hooks = {
  name: "hooks",
  settings: {
    hooks: byName(
      list(matched, ""),
      "Commands that run at events, by event, in the shape of Claude Code: `PreToolUse`, `PostToolUse`, " +
        "`UserPromptSubmit`, `Stop` and `SessionStart` of the built-in agent. Those of a project run " +
        "in the sandbox, in addition to yours.",
      { default: {} },
    ),
  },
} satisfies Capability;
