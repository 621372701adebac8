import { type Command, json } from "../shell/command.ts";

export const validate: Command = {
  name: "validate",
  summary: "Find out whether identities work, by connecting",
  description:
    "Logs in by ssh with the identity's own key, and asks the forge whose the token is, all at the " +
    "same time. Exits with 1 where anything fails.",
  args: [
    { name: "NAME", describe: "The identities; without, all", optional: true, variadic: true },
  ],
  options: {
    offline: { type: "boolean", describe: "Look only at what is on this machine" },
    signing: { type: "boolean", describe: "Also find out whether it can sign" },
    timeout: {
      type: "string",
      value: "SECONDS",
      describe: "How long to wait for each answer",
      default: "10",
    },
    json,
  },
  examples: [
    { run: "trunkline identity validate work", explains: "One of them." },
    { run: "trunkline identity validate --signing --json", explains: "All, for a script." },
  ],
  load: async () => ({ run: (await import("./validate.ts")).validate }),
};

export const gpg: Command = {
  name: "gpg",
  summary: "Find out whether an identity can sign now, with nobody's help",
  description:
    "Asks nobody and does not wait: a key that is locked, or in a device that wants a touch, is " +
    "said to be so. Exits with 1 unless it can sign by itself.",
  args: [{ name: "NAME", describe: "The identity; without, the one here", optional: true }],
  options: { json },
  examples: [{ run: "trunkline identity gpg work", explains: "By gpg or by ssh, as it is set." }],
  load: async () => ({ run: (await import("./validate.ts")).gpg }),
};
