import { LIMIT_TABLE } from "../base/limit/limit-table.ts";
import { DEFAULT_LIMITS } from "../base/limit/limits.ts";
import { ANY_TEXT, byName, group, integer, path, shape } from "../base/capability/settings.ts";
import type { Capability } from "../base/capability/capability.ts";

const NUMBERS = Object.entries(DEFAULT_LIMITS).map(([key, fallback]) => {
  const { minimum, maximum, bounds } = LIMIT_TABLE[key as keyof typeof DEFAULT_LIMITS];
  return [key, integer(bounds, { minimum, maximum, default: fallback })] as const;
});

const messageLimit = shape("MessageLimit", "Limits of one kind of message.", {
  maxSize: integer("Bytes of the whole message.", { minimum: 1 }),
  timeout: integer("Milliseconds without progress.", { minimum: 1, maximum: 2_147_483_647 }),
  rate: group(
    {
      limit: integer("Calls that are allowed in a window.", { minimum: 1, maximum: 1_000_000 }),
      windowMs: integer("Length of the window in milliseconds.", { minimum: 1 }),
    },
    { description: "Calls in a window of time.", required: ["limit", "windowMs"] },
  ),
});

/** Limits of all doors. */
export const limits = {
  name: "limits",
  settings: {
    limits: shape("LimitSettings", "Limits that prevent one peer from using all resources.", {
      ...Object.fromEntries(NUMBERS),
      messages: byName(
        messageLimit,
        "Limits of single messages, by method or by prefix such as `fs/*`.",
        { default: {} },
      ),
    }),
  },
} satisfies Capability;

/** Settings that belong to no capability. */
export const core = {
  name: "core",
  settings: {
    $schema: { ...ANY_TEXT, description: "Schema of this file, for editors.", "x-project": true },
    data: path(
      "Folder for all state; default `$XDG_STATE_HOME/trunkline`, which is usually " +
        "`~/.local/state/trunkline`.",
      { "x-project": false },
    ),
  },
} satisfies Capability;
