import type { Command } from "../shell/command.ts";

export const setup: Command = {
  name: "setup",
  summary: "Make other programs know Trunkline",
  examples: [
    { run: "trunkline setup lazygit", explains: "Comment on code while reading it in lazygit." },
  ],
  commands: [
    {
      name: "lazygit",
      summary: "Add commands to lazygit that comment on lines and follow threads",
      description:
        "Y comments on a line of the selected file, Ctrl-Y shows the threads and resolves them. " +
        "Writes .git/lazygit.yml of the repository, or your own configuration with --user; what is " +
        "there stays as it is. Doing it again changes nothing.",
      options: {
        user: { type: "boolean", describe: "In your own configuration, for all repositories" },
        remove: { type: "boolean", describe: "Take the commands out again" },
        repo: {
          type: "string",
          value: "DIR",
          describe: "A folder of the repository, instead of the current one",
        },
        json: { type: "boolean", describe: "Print JSON" },
      },
      examples: [
        { run: "trunkline setup lazygit", explains: "In this repository." },
        { run: "trunkline setup lazygit --user", explains: "In all of them." },
        { run: "trunkline setup lazygit --remove", explains: "As if it had never been." },
      ],
      load: async () => ({ run: (await import("./setup-lazygit.ts")).setupLazygit }),
    },
    {
      name: "jetbrains",
      summary: "Add a Trunkline server to the agents of JetBrains IDEs",
      description:
        "Writes the server to ~/.jetbrains/acp.json, for remote runs; what else is there stays. The " +
        "token is asked for, or read from standard input or TRUNKLINE_TOKEN.",
      options: {
        remote: {
          type: "string",
          value: "URL",
          describe: "The server, such as wss://trunkline.example.com/acp",
        },
        name: { type: "string", value: "NAME", describe: "What the IDE calls it (Trunkline)" },
        remove: { type: "boolean", describe: "Take it out again" },
        json: { type: "boolean", describe: "Print JSON" },
      },
      examples: [
        {
          run: "trunkline setup jetbrains --remote wss://trunkline.example.com/acp",
          explains: "Offer that server in the AI chat.",
        },
        { run: "trunkline setup jetbrains --remove", explains: "As if it had never been." },
      ],
      load: async () => ({ run: (await import("../run/setup-jetbrains.ts")).setupJetbrains }),
    },
  ],
};
