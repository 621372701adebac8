import type { Command } from "../shell/command.ts";

export const run: Command = {
  name: "run",
  summary: "Have an agent work on a repository, and get a branch back",
  description:
    "The agent works in a sandbox on an exact revision of the repository, here or on the server " +
    "at --url. What it changed is committed and pushed as a branch of its own, whose name is the " +
    "last thing that is printed. Your own checkout is not touched.\n\n" +
    "Where the agent asks for permission you are asked; --yes allows everything, and where nobody " +
    "can be asked, everything is refused. Ctrl-C cancels the turn.\n\n" +
    "It exits with 0 when a branch was pushed or nothing had to be changed, and with 1 otherwise.",
  args: [
    {
      name: "REPO",
      describe: "The address of a git repository, or a folder with a clone of it",
    },
    { name: "PROMPT", describe: "What is to be done" },
  ],
  options: {
    revision: {
      type: "string",
      value: "REVISION",
      describe:
        "The branch, tag or full commit hash to work on, instead of what is checked out in the " +
        "folder, or the repository's default branch",
    },
    agent: {
      type: "string",
      value: "NAME",
      describe: "Who works, instead of the configured agent",
    },
    url: {
      type: "string",
      value: "URL",
      describe: "The server to work on, such as wss://trunkline.example.com/acp, instead of here",
    },
    yes: { type: "boolean", short: "y", describe: "Allow everything that the agent asks for" },
    json: { type: "boolean", describe: "Print one JSON object at the end, and nothing else" },
  },
  examples: [
    {
      run: 'trunkline run . "Fix the failing test" --yes',
      explains: "Work on the commit that is checked out here; it has to be pushed.",
    },
    {
      run: 'trunkline run https://example.com/team/app.git "Update the README" --revision main',
      explains: "Work on a repository that is not cloned here.",
    },
  ],
  load: () => import("./run.ts"),
};
