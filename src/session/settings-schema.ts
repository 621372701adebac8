import * as s from "../base/capability/settings.ts";

const BUDGET: s.Settings = {
  tokens: s.integer("Tokens of models, as agents report them.", { minimum: 1 }),
  cost: s.number("US dollars, as agents report them.", { minimum: 0.0001 }),
  steps: s.integer("Tool calls, and for the built-in agent also requests to the model.", {
    minimum: 1,
  }),
  time: s.integer(
    "Seconds in which turns run. Time in which a person is asked or a turn is queued does " +
      "not count.",
    { minimum: 1 },
  ),
};

/** Sessions. */
export const sessions = {
  name: "sessions",
  settings: {
    sessions: s.shape(
      "SessionSettings",
      "Sessions: what they may use, their work trees, and when they are closed.",
      {
        budget: s.group(BUDGET, {
          description: "What each session may use; no limit if left out.",
        }),
        dailyBudget: s.group(BUDGET, {
          description:
            "What each access token, and you yourself, may use in a day (UTC), unless the token " +
            "has its own limit.",
        }),
        concurrent: s.integer(
          "Sessions that each access token, and you yourself, may have open at once; no limit if " +
            "left out.",
          { minimum: 1 },
        ),
        idle: s.integer(
          "Seconds without a client and without a turn after which a session is closed. It can " +
            "be opened again.",
          { minimum: 1, maximum: 604_800, default: 1800 },
        ),
        worktree: s.group(
          {
            carry: s.list(
              s.NAME,
              "Ignored files that each work tree gets a copy of, such as `.env` or `node_modules`: " +
                "patterns as in .gitignore. A file `.worktreeinclude` in the repository adds to them.",
              { default: [] },
            ),
          },
          { description: "Sessions with a work tree of their own (`--worktree`)." },
        ),
        foreign: s.choice(
          ["owner", "all", "off"],
          "Who may list and continue sessions that other agents began themselves: you, also the " +
            "holders of access tokens, or nobody.",
          { default: "owner" },
        ),
        permissions: s.choice(
          ["first", "asker", "owner"],
          "Whose answer counts when an agent asks for permission or asks a question: `first`, " +
            "that of the first client that answers; `asker`, that of the client whose prompt " +
            "caused it; `owner`, yours, whoever prompted.",
          { default: "first" },
        ),
      },
      { "x-project": false },
    ),
  },
} satisfies s.SettingsSchema;
