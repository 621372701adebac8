import type { Command } from "../shell/command.ts";

export const run: Command = {
  name: "run",
  summary: "Have an agent work on a repository, and get a branch back",
  description:
    "The agent works in a sandbox on an exact revision of the repository, on this machine or on the " +
    "server at --url. Its changes are committed and pushed as a new branch; the last line printed " +
    "is the name of that branch. Your own checkout is not changed.\n\n" +
    "At a terminal you are asked when the agent needs permission; --yes allows everything. Without " +
    "a terminal everything is refused. Ctrl-C cancels the turn.\n\n" +
    "Exits with 0 if a branch was pushed or nothing had to change, and with 1 otherwise.",
  args: [
    {
      name: "REPO",
      describe: "URL of a git repository, or a folder with a clone of it",
    },
    { name: "PROMPT", describe: "What the agent should do" },
  ],
  options: {
    revision: {
      type: "string",
      value: "REVISION",
      describe:
        "Branch, tag or full commit hash to work on; by default what is checked out in the folder, " +
        "or the repository's default branch",
    },
    agent: {
      type: "string",
      value: "NAME",
      describe: "Agent to use, instead of the configured one",
    },
    url: {
      type: "string",
      value: "URL",
      describe: "Server to run it on, such as wss://trunkline.example.com/acp",
    },
    "pull-request": {
      type: "boolean",
      describe: "Open a pull request for the branch, or a merge request on GitLab",
    },
    "unsafe-no-sandbox": {
      type: "boolean",
      describe: "Let the agent do whatever you can on this machine",
    },
    "retry-setup": {
      type: "boolean",
      describe: "Set the environment up even if that has just failed",
    },
    yes: { type: "boolean", short: "y", describe: "Allow everything that the agent asks for" },
    json: { type: "boolean", describe: "Print one JSON object at the end, and nothing else" },
  },
  examples: [
    {
      run: 'trunkline run . "Fix the failing test" --yes',
      explains: "Work on the commit that is checked out here, which must be pushed.",
    },
    {
      run: 'trunkline run https://example.com/team/app.git "Update the README" --revision main',
      explains: "Work on a repository that is not cloned here.",
    },
    {
      run: 'trunkline run . "Fix the failing test" --yes --pull-request',
      explains: "Open a pull request for the branch, too.",
    },
  ],
  load: () => import("./run.ts"),
};
