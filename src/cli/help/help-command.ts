import type { Command } from "../shell/command.ts";

export const help: Command = {
  name: "help",
  summary: "Show what a command does and how it is used",
  args: [{ name: "COMMAND", describe: "The command", optional: true, variadic: true }],
  examples: [
    { run: "trunkline help", explains: "List the commands." },
    { run: "trunkline help config show", explains: "The same as `trunkline config show --help`." },
  ],
  load: () => import("./help.ts"),
};

export const completion: Command = {
  name: "completion",
  summary: "Print a script that completes commands in a shell",
  description: "The script contains every command and option, so pressing Tab starts no process.",
  args: [{ name: "SHELL", describe: "The shell to write for", choices: ["bash", "zsh", "fish"] }],
  examples: [
    { run: 'eval "$(trunkline completion bash)"', explains: "In ~/.bashrc." },
    {
      run: "trunkline completion zsh > ~/.zfunc/_trunkline",
      explains: "With ~/.zfunc in fpath before compinit runs.",
    },
    {
      run: "trunkline completion fish > ~/.config/fish/completions/trunkline.fish",
      explains: "Takes effect in the next fish that you start.",
    },
  ],
  load: () => import("./completion.ts"),
};
