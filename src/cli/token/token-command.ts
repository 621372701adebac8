import type { Scope } from "../../base/principal.ts";
import { type Command, json, type OptionSpec } from "../shell/command.ts";

/** Written out: to find a command, nothing else is loaded. The record has a place for each. */
const SCOPES = Object.keys({
  tools: true,
  sessions: true,
  programs: true,
  review: true,
  dashboard: true,
  admin: true,
} satisfies Record<Scope, true>);

export const token: Command = {
  name: "token",
  summary: "Make, list and revoke tokens that let programs and others use this gateway",
  description:
    "All who use `trunkline serve` send a token with every request, on this machine too. Yours, " +
    "which is good for everything, is in the file that `trunkline serve` names; what is made here " +
    "is good for as much as you say.",
  examples: [
    { run: "trunkline token create laptop", explains: "Make a token, and print it this once." },
    { run: "trunkline token list", explains: "What tokens there are, and when they were used." },
  ],
  commands: [
    {
      name: "create",
      summary: "Make a token and print it, this once",
      description:
        "The token alone goes to standard output. Only its hash is kept, so it cannot be shown " +
        "again. The calls made with it are on record under its name, and the policy can go by it.\n\n" +
        "Without --scope it is good for the least: `tools`, to list and call tools over MCP. " +
        "`review` adds those for review comments; `sessions` lets it hold conversations with " +
        "agents over ACP, and answer what these ask; `programs` lets it name commands that are " +
        "started as you, such as a session's own MCP servers; `dashboard` is for / and /metrics; " +
        "`admin` is for the sessions of others.",
      args: [
        { name: "NAME", describe: "Whose it is: a person, a machine, a program", optional: true },
      ],
      options: {
        scope: {
          type: "string",
          value: "SCOPE",
          multiple: true,
          choices: SCOPES,
          describe: "What it is good for; again for more",
        },
        agent: limit("AGENT", "Only with this agent"),
        tool: limit("TOOL", "Only this tool, and no resources or prompts"),
        folder: limit("DIR", "Only in this folder, and those in it"),
        repo: limit("PATTERN", "Only in repositories with such an address"),
        expires: {
          type: "string",
          value: "TIME",
          describe: "How long it is valid: 90m, 12h, 30d, 8w or 1y; without, until it is revoked",
        },
        json,
      },
      examples: [
        { run: "trunkline token create laptop", explains: "For tools, until you revoke it." },
        {
          run: "trunkline token create ci --scope dashboard --expires 30d",
          explains: "For /metrics alone, for a month.",
        },
        {
          run: "trunkline token create editor --scope sessions --scope programs --folder ~/work",
          explains: "For an editor on another machine, in one folder.",
        },
        {
          run: "trunkline token create bot --scope sessions --repo 'https://git.example.com/team/*'",
          explains: "For conversations in a team's repositories.",
        },
      ],
      load: async () => ({ run: (await import("./token.ts")).create }),
    },
    {
      name: "list",
      summary: "List the tokens, without what would let anybody in",
      options: { json },
      examples: [
        { run: "trunkline token list", explains: "Their names, ids, and when each was last used." },
      ],
      load: async () => ({ run: (await import("./token.ts")).list }),
    },
    {
      name: "revoke",
      summary: "Make a token worthless, and end all that it started",
      description:
        "Servers that run follow at once: whatever the token has open or has started, processes " +
        "too, ends within a second.",
      args: [{ name: "NAME", describe: "Its name or its id" }],
      options: { json },
      examples: [
        {
          run: "trunkline token revoke laptop",
          explains: "By its name or its id.",
        },
      ],
      load: async () => ({ run: (await import("./token.ts")).revoke }),
    },
    {
      name: "rotate",
      summary: "Put a new owner's token in the place of the old",
      description:
        "For when somebody may have seen it. What was let in by the old one, browsers too, has to " +
        "come in anew, and what it started ends within a second. Other tokens stay.",
      options: { json },
      examples: [
        { run: "trunkline token rotate", explains: "Programs that read the file go on with it." },
      ],
      load: async () => ({ run: (await import("./token.ts")).rotate }),
    },
  ],
};

function limit(value: string, describe: string): OptionSpec {
  const again = value === "DIR" ? "again for others" : "`*` stands for any text, again for others";
  return { type: "string", value, multiple: true, describe: `${describe}; ${again}` };
}
