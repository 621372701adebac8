import { type Command, json } from "../shell/command.ts";

export const setup: Command = {
  name: "setup",
  summary: "Set up other programs to use Trunkline",
  description:
    "Adds Trunkline to the configuration of an assistant or editor: its tools (MCP) and, in Zed, " +
    "JetBrains IDEs and Neovim, its agents (ACP). Comments and layout of the file are kept, a " +
    "backup is left beside it, and running it again changes nothing.\n\n" +
    "Without a program it lists those on this machine, and at a terminal asks which to set up. The " +
    "exit code is 1 if one of them is not set up.\n\n" +
    "With --http the program connects to `trunkline serve`, with a token that is created for it " +
    "and revoked with --remove. The file can then be read by you only.\n\n" +
    "--import goes the other way: it adds the MCP servers of these programs to your own " +
    "configuration, so that one Trunkline offers them to all.\n\n" +
    "lazygit gets review commands: Y comments on a line of the selected file; Ctrl-Y shows the " +
    "threads and resolves them. They are added to .git/lazygit.yml of the repository, or with " +
    "--user to your own configuration.",
  args: [
    {
      name: "PROGRAM",
      describe: "The program to set up",
      optional: true,
      choices: [
        ...["claude-code", "claude-desktop", "cursor", "vscode", "codex", "zed", "jetbrains"],
        ...["gemini", "opencode", "goose", "windsurf", "cline", "continue", "neovim", "lazygit"],
      ],
    },
  ],
  options: {
    print: { type: "boolean", describe: "Print the entry, and change nothing" },
    "dry-run": { type: "boolean", describe: "Show what would change, and change nothing" },
    remove: { type: "boolean", describe: "Remove what was added" },
    http: { type: "boolean", describe: "Connect to the gateway that `trunkline serve` runs" },
    import: { type: "boolean", describe: "Add the MCP servers of these programs to Trunkline" },
    yes: { type: "boolean", short: "y", describe: "With --import: do not ask" },
    remote: {
      type: "string",
      value: "URL",
      describe: "For jetbrains: a server for remote runs, such as wss://trunkline.example.com/acp",
    },
    name: {
      type: "string",
      value: "NAME",
      describe: "For jetbrains: its name in the IDE, instead of Trunkline",
    },
    user: {
      type: "boolean",
      describe: "For lazygit: your own configuration, for all repositories",
    },
    repo: {
      type: "string",
      value: "DIR",
      describe: "For lazygit: a folder of the repository, instead of the current one",
    },
    json,
  },
  examples: [
    { run: "trunkline setup claude-code", explains: "Give Claude Code Trunkline's tools." },
    { run: "trunkline setup codex --dry-run", explains: "See what would change." },
    { run: "trunkline setup cursor --http", explains: "Use the gateway that runs." },
    { run: "trunkline setup zed --remove", explains: "Remove Trunkline from Zed again." },
    { run: "trunkline setup lazygit --user", explains: "Comment on code in lazygit, everywhere." },
    {
      run: "trunkline setup jetbrains --remote wss://trunkline.example.com/acp",
      explains: "Offer a server in the AI chat. Asks for its token.",
    },
    { run: "trunkline setup --import --dry-run", explains: "List the servers of other programs." },
  ],
  load: async () => ({ run: (await import("../../setup/setup.ts")).run }),
};
