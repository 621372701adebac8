import { type Command, flag } from "../shell/command.ts";

export const demo: Command = {
  name: "demo",
  summary: "See everything work, in a temporary folder",
  description:
    "Runs real commands and prints them: an identity switch and a guarded push, a review comment " +
    "that the agent fixes, a plugin's tool over the bus, a remote run that ends in a pushed branch, " +
    "and what MCP and ACP clients send and get.\n\n" +
    "A scripted model on this machine takes the place of a language model, so it needs no key and " +
    "no network. It reads and writes nothing outside of a temporary folder, which it removes at the " +
    "end. Exits with 0 if everything worked.",
  options: {
    open: flag(
      "Open one session of it in your browser, which works and waits for you, until Ctrl-C",
    ),
    keep: flag("Leave the temporary folder, to look around in it"),
    json: flag("Print one JSON object, and nothing else: at the end, or with --open at once"),
  },
  examples: {
    "trunkline demo": "Watch it all.",
    "trunkline demo --open": "Take part in it, in your browser.",
    "trunkline demo --json": "Let a program check that this machine can do it.",
  },
  load: () => import("./demo.ts"),
};
