import { arg, type Command, flag, json, text } from "../shell/command.ts";

export const validate: Command = {
  name: "validate",
  summary: "Check that identities work, by logging in",
  description:
    "Logs in over SSH with the identity's key, and asks the forge whose token it is. Checks all " +
    "identities at the same time. Exits with 1 if a check fails.",
  args: [arg("[NAME...]", "Identities to check; all if none is given")],
  options: {
    offline: flag("Check only what needs no network"),
    signing: flag("Also check that it can sign"),
    timeout: text("SECONDS", "Time to wait for each answer", { default: "10" }),
    json,
  },
  examples: {
    "trunkline identity validate work": "Check one.",
    "trunkline identity validate --signing --json": "Check all, for a script.",
  },
  load: async () => ({ run: (await import("./validate.ts")).validate }),
};

export const gpg: Command = {
  name: "gpg",
  summary: "Check whether an identity can sign a commit without asking you",
  description:
    "Never asks for a passphrase: reports a key that is locked, or on a device that needs a touch. " +
    "Exits with 1 unless it can sign by itself.",
  args: [arg("[NAME]", "The identity; the current one if none is given")],
  options: { json },
  examples: { "trunkline identity gpg work": "Checks GPG or SSH signing, as configured." },
  load: async () => ({ run: (await import("./validate.ts")).gpg }),
};
