import { arg, type Command } from "../shell/command.ts";

export const help: Command = {
  name: "help",
  summary: "Show what a command does and how it is used",
  args: [arg("[COMMAND...]", "The command")],
  examples: {
    "trunkline help": "List the commands.",
    "trunkline help config show": "The same as `trunkline config show --help`.",
  },
  load: () => import("./help.ts"),
};

export const completion: Command = {
  name: "completion",
  summary: "Print a script that completes commands in a shell",
  description: "The script contains every command and option, so pressing Tab starts no process.",
  args: [arg("SHELL", "The shell to write for", { choices: ["bash", "zsh", "fish"] })],
  examples: {
    'eval "$(trunkline completion bash)"': "In ~/.bashrc.",
    "trunkline completion zsh > ~/.zfunc/_trunkline":
      "With ~/.zfunc in fpath before compinit runs.",
    "trunkline completion fish > ~/.config/fish/completions/trunkline.fish":
      "Takes effect in the next fish that you start.",
  },
  load: () => import("./completion.ts"),
};
