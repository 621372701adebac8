import { type Command, json } from "../shell/command.ts";

export const setup: Command = {
  name: "setup",
  summary: "Set up other programs to use Trunkline",
  examples: [{ run: "trunkline setup lazygit", explains: "Comment on code in lazygit." }],
  commands: [
    {
      name: "lazygit",
      summary: "Add review commands to lazygit",
      description:
        "Y comments on a line of the selected file; Ctrl-Y shows the threads and resolves them. Adds " +
        "them to .git/lazygit.yml of the repository, or with --user to your own configuration, and " +
        "changes nothing else there. Running it again changes nothing.",
      options: {
        user: { type: "boolean", describe: "Change your own configuration, for all repositories" },
        remove: { type: "boolean", describe: "Remove the commands" },
        repo: {
          type: "string",
          value: "DIR",
          describe: "A folder of the repository, instead of the current one",
        },
        json,
      },
      examples: [
        { run: "trunkline setup lazygit", explains: "For this repository." },
        { run: "trunkline setup lazygit --user", explains: "For all repositories." },
        { run: "trunkline setup lazygit --remove", explains: "Remove them again." },
      ],
      load: async () => ({ run: (await import("./lazygit.ts")).setupLazygit }),
    },
    {
      name: "jetbrains",
      summary: "Add a Trunkline server to the agents of JetBrains IDEs",
      description:
        "Adds the server to ~/.jetbrains/acp.json, for remote runs, and changes nothing else there. " +
        "Asks for the token, or reads it from standard input or TRUNKLINE_TOKEN.",
      options: {
        remote: {
          type: "string",
          value: "URL",
          describe: "The server, such as wss://trunkline.example.com/acp",
        },
        name: { type: "string", value: "NAME", describe: "The name in the IDE (Trunkline)" },
        remove: { type: "boolean", describe: "Remove the server" },
        json,
      },
      examples: [
        {
          run: "trunkline setup jetbrains --remote wss://trunkline.example.com/acp",
          explains: "Offer that server in the AI chat.",
        },
        { run: "trunkline setup jetbrains --remove", explains: "Remove it again." },
      ],
      load: async () => ({ run: (await import("./jetbrains.ts")).setupJetbrains }),
    },
  ],
};
