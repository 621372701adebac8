import { type Command, commandsIn, flag, text } from "../shell/command.ts";

export const service: Command = {
  name: "service",
  summary: "Keep the gateway running: start `serve` when you log in",
  description:
    "Uses the service manager of the system: systemd on Linux, launchd on macOS. It runs as you, " +
    "with your configuration.",
  examples: { "trunkline service status": "See whether it runs, and where." },
  commands: commandsIn(() => import("../../setup/service/service.ts"), {
    install: {
      summary: "Have the system start the gateway, now and at each login",
      description:
        "Running it again changes only what you ask for. Host and port stay as they were installed. " +
        "PATH is stored as it is now, since programs that start at login often get a shorter one.",
      options: {
        host: text("HOST", "Address to listen on"),
        port: text("PORT", "Port to listen on"),
        print: flag("Print what would be written, and change nothing"),
      },
      examples: {
        "trunkline service install": "Install and start it.",
        "trunkline service install --print": "Show what would be written.",
      },
    },
    remove: {
      summary: "Stop the gateway, and do not start it any more",
      examples: { "trunkline service remove": "Remove all that was installed." },
    },
    status: {
      summary: "Show whether the service runs, since when, and its last messages",
      examples: { "trunkline service status": "Its address is shown, too." },
    },
  }),
};
