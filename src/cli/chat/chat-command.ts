import { arg, type Command, flag, text } from "../shell/command.ts";

export const chat: Command = {
  name: "chat",
  summary: "Talk with an agent in the terminal, or ask it one thing",
  description:
    "Without a prompt, a conversation begins: Enter sends, Alt-Enter begins a new line, y or n " +
    "answers what the agent asks, Ctrl-C cancels the turn, Ctrl-D leaves, and /keys shows all keys. " +
    "With a prompt, or one on standard input, the agent answers once; the exit code is 0 if it could " +
    "finish.\n\n" +
    "The agent works in the current folder. The session is stored: editors and " +
    "`trunkline session` can continue it. A session that is open elsewhere is joined there.\n\n" +
    "When the output is not a terminal, standard output gets only the answer, and what the agent " +
    "asks is refused unless --yes is given.",
  args: [arg("[PROMPT...]", "What the agent is asked; several words are joined")],
  options: {
    session: text("SESSION", "Continue this session: its id, or a unique beginning of it", {
      names: "session",
    }),
    agent: text("NAME", "Agent of a new session, instead of the configured one", {
      names: "agent",
    }),
    worktree: flag("Give a new session a work tree of its own, and a branch for it"),
    branch: text("NAME", "Name of that branch, instead of a generated one; implies --worktree"),
    url: text("URL", "ACP address of a gateway, such as ws://127.0.0.1:4180/acp"),
    plain: flag("Only add text, without colours: for screen readers, and where TERM is dumb"),
    yes: flag("Allow everything that the agent asks for"),
    json: flag("Print the answer as JSON"),
  },
  examples: {
    "trunkline chat": "Begin a conversation in this folder.",
    'trunkline chat "/help"': "Ask one thing.",
    'git diff | { echo "Review this:"; cat; } | trunkline chat':
      "Ask about the output of a program.",
    "trunkline chat --session SESSION": "Continue a session of an editor.",
    "trunkline chat --plain": "Talk with a screen reader.",
    'trunkline chat --worktree "/help"': "Work beside other sessions in the same repository.",
  },
  load: async () => ({ run: (await import("./chat.ts")).chat }),
};
