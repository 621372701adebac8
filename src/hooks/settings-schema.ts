import * as s from "../base/capability/settings.ts";

/** Allows unknown members, so that hooks for Claude Code can be pasted: a hook that is not understood is reported, and not run. */
function pasted(name: string, description: string, properties: s.Settings): s.Setting {
  return { type: "object", "x-name": name, description, properties };
}

const hook = pasted("Hook", "A command that runs at an event.", {
  type: { ...s.ANY_TEXT, description: "`command`, the only kind that is run." },
  command: { ...s.ANY_TEXT, description: "Command line for `/bin/sh`." },
  timeout: s.number(
    "Seconds that it may take; 60 when left out. Then it is ended with all that it started.",
    { minimum: 0.1, maximum: 86_400 },
  ),
  onFailure: s.choice(
    ["block", "continue"],
    "What a failure means before a tool call or a prompt. When left out, a call does not happen if " +
      "the hook cannot be started, ends by a signal or takes too long; another exit code than 2 is " +
      "only reported.",
  ),
});

const matched = pasted("MatchedHooks", "Hooks for the tools that a matcher fits.", {
  matcher: {
    ...s.ANY_TEXT,
    description:
      "Regular expression for the whole name of a tool, such as `Bash` or `Edit|Write`; empty or " +
      "`*` for all. At `SessionStart`: `startup` or `resume`.",
  },
  hooks: s.list(hook, "The commands, in their order."),
});

const gatewayHook = s.shape(
  "ToolHook",
  "What runs before or after a call: a command, an address, or what is ready-made.",
  {
    type: s.choice(
      ["command", "http", "mask", "size", "rate"],
      "`command` runs a program, `http` asks an address. `mask` masks secrets and personal data, `size` " +
        "and `rate` limit: these need no program. Default: `command`.",
    ),
    command: s.text("Command line for `/bin/sh`, which runs as you, in your home folder."),
    url: s.url("Address that gets a POST. Redirects are not followed."),
    headers: s.byName(
      s.ANY_TEXT,
      "Headers of each request. `${keychain:NAME}` and `${NAME}` stand for a secret of the keychain " +
        "and for a variable.",
    ),
    allowPrivate: s.flag(
      "Whether the address may be of this machine or of a private network. Default: no.",
    ),
    timeout: s.number("Seconds that it may take. Default: 10.", { minimum: 0.1, maximum: 600 }),
    onFailure: s.choice(
      ["block", "continue"],
      "Whether a call that it fails for is refused (`block`, the default), or goes on as if there " +
        "were no hook.",
    ),
    what: s.list(
      { enum: ["secrets", "personal"] },
      "What `mask` masks: `secrets` (keys, tokens, passwords), `personal` (mail addresses, telephone, " +
        "card and account numbers). Default: both.",
      { minItems: 1 },
    ),
    most: s.integer("Bytes of JSON that `size` lets through.", { minimum: 1 }),
    calls: s.integer("Calls of one person that `rate` lets through.", { minimum: 1 }),
    seconds: s.number("Time window of `rate`.", { minimum: 1, maximum: 86_400 }),
  },
);
const matchedTool = s.shape("MatchedToolHooks", "Hooks for the tools that a matcher fits.", {
  matcher: {
    ...s.ANY_TEXT,
    description:
      "Regular expression for the whole name of a tool: `mcp__SERVER__TOOL`, where the server of " +
      "Trunkline's own tools is `trunkline`, or the name that `trunkline tool list` shows; empty or " +
      "`*` for all.",
  },
  hooks: s.list(gatewayHook, "What runs, in this order."),
});

/** Commands of the user and of projects that run at events, in the shape of Claude Code. */
export const hooks = {
  name: "hooks",
  settings: {
    hooks: s.byName(
      s.list(matched, ""),
      "Commands that run at events, by event, in the shape of Claude Code: `PreToolUse`, `PostToolUse`, " +
        "`UserPromptSubmit`, `Stop` and `SessionStart` of the built-in agent. Those of a project run " +
        "in the sandbox, in addition to yours.",
      { default: {} },
    ),
    toolHooks: s.group(
      {
        PreToolUse: s.list(matchedTool, "Before a call that the policy would let through."),
        PostToolUse: s.list(matchedTool, "After a call, before its result is passed on."),
      },
      {
        default: {},
        description:
          "What runs before and after every call of a tool, whoever makes it, in the shape of " +
          "`hooks`. See [Hooks at the gateway](TOOLS.md#hooks-at-the-gateway).",
        "x-project": false,
      },
    ),
  },
} satisfies s.SettingsSchema;
