import { type Command } from "../shell/command.ts";

export const chat: Command = {
  name: "chat",
  summary: "Talk with an agent in the terminal, or ask it one thing",
  description:
    "Without a prompt, a conversation begins: each line is a prompt, a number answers a question of " +
    "the agent, Ctrl-C cancels the turn, and Ctrl-D leaves. With a prompt, or one on standard " +
    "input, the agent answers once; the exit code is 0 if it could finish.\n\n" +
    "The agent works in the current folder. The session is stored: editors and " +
    "`trunkline session` can continue it. A session that is open elsewhere is joined there.\n\n" +
    "When the output is not a terminal, standard output gets only the answer, and what the agent " +
    "asks is refused unless --yes is given.",
  args: [
    {
      name: "PROMPT",
      describe: "What the agent is asked; several words are joined",
      optional: true,
      variadic: true,
    },
  ],
  options: {
    session: {
      type: "string",
      value: "SESSION",
      describe: "Continue this session: its id, or a unique beginning of it",
    },
    agent: {
      type: "string",
      value: "NAME",
      describe: "Agent of a new session, instead of the configured one",
    },
    worktree: {
      type: "boolean",
      describe: "Give a new session a work tree of its own, and a branch for it",
    },
    branch: {
      type: "string",
      value: "NAME",
      describe: "Name of that branch, instead of a generated one; implies --worktree",
    },
    url: {
      type: "string",
      value: "URL",
      describe: "ACP address of a gateway, such as ws://127.0.0.1:4180/acp",
    },
    yes: { type: "boolean", describe: "Allow everything that the agent asks for" },
    json: { type: "boolean", describe: "Print the answer as JSON" },
  },
  examples: [
    { run: "trunkline chat", explains: "Begin a conversation in this folder." },
    { run: 'trunkline chat "/help"', explains: "Ask one thing." },
    {
      run: 'git diff | { echo "Review this:"; cat; } | trunkline chat',
      explains: "Ask about the output of a program.",
    },
    { run: "trunkline chat --session SESSION", explains: "Continue a session of an editor." },
    {
      run: 'trunkline chat --worktree "/help"',
      explains: "Work beside other sessions in the same repository.",
    },
  ],
  load: async () => ({ run: (await import("./chat.ts")).chat }),
};
