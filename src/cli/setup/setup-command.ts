import { type Command, flag, json, text } from "../shell/command.ts";

export const setup: Command = {
  name: "setup",
  summary: "Set up other programs to use Trunkline",
  description:
    "Adds Trunkline to the configuration of an assistant or editor: its tools (MCP) and, in Zed, " +
    "JetBrains IDEs and Neovim, its agents (ACP); for Neovim, Helix and Emacs it prints what to add, " +
    "also for reviews (`trunkline lsp`). Comments and layout of the file are kept, a " +
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
        ...["gemini", "opencode", "goose", "windsurf", "cline", "continue"],
        ...["neovim", "helix", "emacs", "lazygit"],
      ],
    },
  ],
  options: {
    print: flag("Print the entry, and change nothing"),
    "dry-run": flag("Show what would change, and change nothing"),
    remove: flag("Remove what was added"),
    http: flag("Connect to the gateway that `trunkline serve` runs"),
    import: flag("Add the MCP servers of these programs to Trunkline"),
    yes: flag("With --import: do not ask", { short: "y" }),
    remote: text(
      "URL",
      "For jetbrains: a server for remote runs, such as wss://trunkline.example.com/acp",
    ),
    name: text("NAME", "For jetbrains: its name in the IDE, instead of Trunkline"),
    user: flag("For lazygit: your own configuration, for all repositories"),
    repo: text("DIR", "For lazygit: a folder of the repository, instead of the current one"),
    json,
  },
  examples: {
    "trunkline setup claude-code": "Give Claude Code Trunkline's tools.",
    "trunkline setup codex --dry-run": "See what would change.",
    "trunkline setup cursor --http": "Use the gateway that runs.",
    "trunkline setup zed --remove": "Remove Trunkline from Zed again.",
    "trunkline setup lazygit --user": "Comment on code in lazygit, everywhere.",
    "trunkline setup jetbrains --remote wss://trunkline.example.com/acp":
      "Offer a server in the AI chat. Asks for its token.",
    "trunkline setup --import --dry-run": "List the servers of other programs.",
  },
  load: async () => ({ run: (await import("../../setup/setup.ts")).run }),
};
