import { LIMIT_TABLE } from "../base/limit/limit-table.ts";
import { DEFAULT_LIMITS } from "../base/limit/limits.ts";
import * as s from "../base/capability/settings.ts";

const NUMBERS = Object.entries(DEFAULT_LIMITS).map(([key, fallback]) => {
  const { minimum, maximum, bounds } = LIMIT_TABLE[key as keyof typeof DEFAULT_LIMITS];
  return [key, s.integer(bounds, { minimum, maximum, default: fallback })] as const;
});

const messageLimit = s.shape("MessageLimit", "Limits of one kind of message.", {
  maxSize: s.integer("Bytes of the whole message.", { minimum: 1 }),
  timeout: s.integer("Milliseconds without progress.", { minimum: 1, maximum: 2_147_483_647 }),
  rate: s.group(
    {
      limit: s.integer("Calls that are allowed in a window.", { minimum: 1, maximum: 1_000_000 }),
      windowMs: s.integer("Length of the window in milliseconds.", { minimum: 1 }),
    },
    { description: "Calls in a window of time.", required: ["limit", "windowMs"] },
  ),
});

/** Limits of all doors. */
export const limits = {
  name: "limits",
  settings: {
    limits: s.shape("LimitSettings", "Limits that prevent one peer from using all resources.", {
      ...Object.fromEntries(NUMBERS),
      messages: s.byName(
        messageLimit,
        "Limits of single messages, by method or by prefix such as `fs/*`.",
        { default: {} },
      ),
    }),
  },
} satisfies s.SettingsSchema;

/** Settings that belong to no capability. */
export const core = {
  name: "core",
  settings: {
    $schema: { ...s.ANY_TEXT, description: "Schema of this file, for editors.", "x-project": true },
    data: s.path(
      "Folder for all state; default `$XDG_STATE_HOME/trunkline`, which is usually " +
        "`~/.local/state/trunkline`.",
      { "x-project": false },
    ),
  },
} satisfies s.SettingsSchema;
