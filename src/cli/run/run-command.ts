import { arg, type Command, type CommandEntry, commandsIn, flag, text } from "../shell/command.ts";

const url = text("URL", "The server that has the run, such as wss://trunkline.example.com/acp");

/** A command about the result of a run. */
function result(summary: string, examples: CommandEntry["examples"]): CommandEntry {
  const session = arg("SESSION", "Id of its session, or a unique beginning of it", {
    names: "session",
  });
  return { summary, args: [session], options: { url }, examples };
}

export const run: Command = {
  name: "run",
  summary: "Have an agent work on a repository, and get a branch back",
  description:
    "The agent works in a sandbox on an exact revision of the repository, on this machine or on the " +
    "server at --url. Its changes are committed and pushed as a new branch; the last line printed " +
    "is the name of that branch. Your own checkout is not changed. A repository in a folder that has no " +
    "remote gets the branch itself, if the run is on this machine.\n\n" +
    "At a terminal you are asked when the agent needs permission; --yes allows everything. Without " +
    "a terminal everything is refused. Ctrl-C cancels the turn.\n\n" +
    "Exits with 0 if a branch was pushed or nothing had to change, and with 1 otherwise.\n\n" +
    "The commands below show what has come of a run, here or on the server at --url, for which " +
    "TRUNKLINE_TOKEN is a token with the scope sessions. Only the id of a session after their names " +
    "makes them commands: a folder of such a name is ./show.",
  commandsTake: /^[0-9a-f]{8}(?:$|[0-9a-f-]+$)/,
  commands: commandsIn(() => import("./results.ts"), {
    show: result("Show the repository, branch, state and changed files of a run", {
      "trunkline run show 0b9e4c1d": "Show a run of this machine.",
      "trunkline run show 0b9e4c1d --url wss://trunkline.example.com/acp": "Show one of a server.",
    }),
    log: result("Show what happened in a run: fetching, set-up, commits, pushes", {
      "trunkline run log 0b9e4c1d": "Show it with the log of a set-up that failed.",
    }),
    diff: result("Show what a run has changed", {
      "trunkline run diff 0b9e4c1d": "Show it as a diff, in colour on a terminal.",
    }),
    patch: result("Print what a run has changed, for `git apply`", {
      "trunkline run patch 0b9e4c1d | git apply": "Take it over without a branch.",
    }),
  }),
  args: [
    arg("REPO", "URL of a git repository, or a folder with one"),
    arg("PROMPT", "What the agent should do"),
  ],
  options: {
    revision: text(
      "REVISION",
      "Branch, tag or full commit hash to work on; by default what is checked out in the folder, " +
        "or the repository's default branch",
    ),
    agent: text("NAME", "Agent to use, instead of the configured one", { names: "agent" }),
    url: text("URL", "Server to run it on, such as wss://trunkline.example.com/acp"),
    "pull-request": flag("Open a pull request for the branch, or a merge request on GitLab"),
    "unsafe-no-sandbox": flag("Let the agent do whatever you can on this machine"),
    "retry-setup": flag("Set the environment up even if that has just failed"),
    yes: flag("Allow everything that the agent asks for", { short: "y" }),
    json: flag("Print one JSON object at the end, and nothing else"),
  },
  examples: {
    'trunkline run . "Fix the failing test" --yes':
      "Work on the commit that is checked out here. If the repository has a remote, it must be there.",
    'trunkline run https://example.com/team/app.git "Update the README" --revision main':
      "Work on a repository that is not cloned here.",
    'trunkline run . "Fix the failing test" --yes --pull-request':
      "Open a pull request for the branch, too.",
  },
  load: () => import("./run.ts"),
};
