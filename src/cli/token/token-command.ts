import type { Scope } from "../../base/principal.ts";
import { arg, type Command, commandsIn, flag, type OptionSpec, text } from "../shell/command.ts";

/**
 * Written out, so that finding a command loads nothing else; `satisfies` fails the type check if a
 * scope is missing.
 */
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
  formerly: ["device"],
  summary: "Create, list and revoke access: tokens, and browsers that are logged in",
  description:
    "Every request to `trunkline serve` needs a token, also from this machine. The owner's token " +
    "allows everything; `trunkline serve` prints the path of its file. Tokens that you create here " +
    "allow only what you choose.\n\n" +
    "`trunkline open` logs in a browser of this machine for 12 hours. `trunkline open --qr` pairs a phone, " +
    "which stays logged in until nobody has used it for 30 days. All can do what you can.",
  examples: {
    "trunkline token create laptop": "Create a token and print it once.",
    "trunkline token list": "Show the tokens and browsers, and when each was last used.",
    "trunkline open --qr": "Pair a phone.",
  },
  commands: commandsIn(() => import("./token.ts"), {
    create: {
      summary: "Create a token and print it once",
      description:
        "Standard output gets only the token. Only its hash is stored, so it cannot be shown again. " +
        "The audit and the policy know calls made with it by its name.\n\n" +
        "Scopes: `tools` lists and calls tools over MCP, and is the default; `review` adds the " +
        "review tools; `sessions` talks to agents over ACP and answers their permission requests; " +
        "`programs` may name commands that run as you, such as a session's own MCP servers; " +
        "`dashboard` reads / and /metrics; `admin` reaches the sessions of other tokens and, with " +
        "`dashboard`, what belongs to all (docs/SECURITY.md lists it), and cannot be limited.",
      args: [arg("[NAME]", "Who will use it: a person, a machine or a program")],
      options: {
        scope: text("SCOPE...", "What it allows; may be repeated", { choices: SCOPES }),
        agent: limit("AGENT", "Allow only this agent"),
        tool: limit("TOOL", "Allow only this tool, and no resources or prompts"),
        folder: limit("DIR", "Allow only this folder and its subfolders"),
        repo: limit("PATTERN", "Allow only repositories whose address matches"),
        profile: text("NAME", "Show and allow only what this profile of the configuration does", {
          names: "profile",
        }),
        person: text(
          "NAME",
          "Whose it is: the tokens of one person share their logins at MCP servers",
        ),
        "budget-tokens": text(
          "COUNT",
          "Tokens of models that its turns may use in a day: 200k, 2M",
        ),
        "budget-cost": text("DOLLARS", "US dollars that its turns may cost in a day"),
        "budget-steps": text("COUNT", "Tool calls of its turns in a day"),
        "budget-time": text("TIME", "Time that its turns may run in a day: 90s, 30m or 2h"),
        observe: flag("Allow only to watch sessions: not to begin, prompt, cancel or answer"),
        concurrent: text("COUNT", "Sessions that it may have open at once"),
        expires: text(
          "TIME",
          "Time until it expires: 90m, 12h, 30d, 8w or 1y; by default it does not expire",
        ),
      },
      examples: {
        "trunkline token create laptop": "Allows tools until you revoke it.",
        "trunkline token create ci --scope dashboard --expires 30d":
          "Allows only the dashboard and /metrics, for 30 days.",
        "trunkline token create editor --scope sessions --scope programs --folder ~/work":
          "For an editor on another machine, limited to one folder.",
        "trunkline token create bot --scope sessions --repo 'https://git.example.com/team/*'":
          "For sessions in a team's repositories.",
        "trunkline token create guest --scope sessions --budget-tokens 2M --concurrent 3":
          "For sessions that may use two million tokens a day, three at once.",
        "trunkline token create reader --profile reading":
          "For a program that sees the tools of a profile.",
        "trunkline token create ada-editor --person ada":
          "For another program of a person who has a token already.",
        "trunkline token create screen --scope sessions --scope admin --observe":
          "For a screen that shows everybody's sessions and controls none.",
      },
    },
    list: {
      summary: "List the tokens, without the secrets, and the browsers that are logged in",
      examples: { "trunkline token list": "Shows names, ids and when each was last used." },
    },
    revoke: {
      summary: "Revoke a token or log a browser out, and end everything it started",
      description:
        "Running servers close its connections and end its processes within a second. A browser gets no more " +
        "push notifications. `trunkline token rotate` logs out all of them.",
      args: [arg("NAME", "Name or id of the token, or of the browser", { names: "token" })],
      examples: {
        "trunkline token revoke laptop": "Revoke the token named laptop.",
        "trunkline token revoke DEVICE": "Log out a lost phone.",
      },
    },
    rotate: {
      summary: "Replace the owner's token with a new one",
      description:
        "Use it if somebody may have seen the token. Programs and browsers that used the old token " +
        "have to log in again, and what they started ends within a second. Other tokens stay valid.",
      examples: {
        "trunkline token rotate": "Programs that read the token's file get the new one.",
      },
    },
  }),
};

function limit(value: string, describe: string): OptionSpec {
  const again = value === "DIR" ? "may be repeated" : "`*` matches any text; may be repeated";
  return text(`${value}...`, `${describe}; ${again}`);
}
