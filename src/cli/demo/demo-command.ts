import { type Command, flag } from "../shell/command.ts";

export const demo: Command = {
  name: "demo",
  summary: "Watch an agent at work in your browser, and answer it",
  description:
    "Opens a session in your browser: the built-in agent changes a sample repository, asks you for a " +
    "command and a commit, and answers your comment on a line. Where no browser can be opened, it " +
    "prints a link, and a command that shows the same session in a terminal.\n\n" +
    "A scripted model on this machine takes the place of a language model, so it needs no key and " +
    "no network. It reads and writes nothing outside of a temporary folder, which it removes when you " +
    "stop it with Ctrl-C.",
  options: { json: flag("Print the link and the command as JSON") },
  examples: {
    "trunkline demo": "Take part in it.",
    "trunkline demo --json": "Let a program show it: it gets the link and the command.",
  },
  load: () => import("./demo.ts"),
};
