import { type Command, commandsIn, flag } from "../shell/command.ts";

export const notification: Command = {
  name: "notification",
  formerly: ["notifications"],
  summary: "See and try the notifications to people who are away",
  description:
    "`notifications` in the configuration says who is notified of what: by a command, a webhook, or Web " +
    "Push to browsers.",
  examples: {
    "trunkline notification test": "Send one to everybody who is configured.",
    "trunkline notification list": "See what became of the last ones.",
  },
  commands: commandsIn(() => import("./notifications.ts"), {
    list: {
      summary: "List the last notifications and whether they were delivered",
      description:
        "A notification is delivered once the command has succeeded, or the webhook or push service has " +
        "accepted it. One that fails is tried again for a day.",
      examples: {
        "trunkline notification list": "Show the newest first.",
        "trunkline notification list --json": "Show every attempt.",
      },
    },
    test: {
      summary: "Send a test notification to everybody who is configured",
      description: "Waits for the first attempts, and fails if one of them did.",
      examples: { "trunkline notification test": "See whether it arrives." },
    },
    secret: {
      summary: "Print the secret with which webhooks are signed",
      description:
        "The receiver of a webhook checks the header `webhook-signature` with it, as Standard Webhooks " +
        "describes. It is created with the first use, and kept in the system's keychain or an encrypted " +
        "file.",
      options: {
        rotate: flag("Replace it; running servers use the new one at once"),
      },
      examples: { "trunkline notification secret": "Print it, to give it to a receiver." },
    },
  }),
};
