import { agent } from "./agent/agent-command.ts";
import { blame, notes, stats, why } from "./authorship/authorship-command.ts";
import { audit } from "./audit/audit-command.ts";
import { chat } from "./chat/chat-command.ts";
import { config } from "./config/config-command.ts";
import { demo } from "./demo/demo-command.ts";
import { doctor } from "./doctor/doctor-command.ts";
import { identity } from "./identity/identity-command.ts";
import { model } from "./models/models-command.ts";
import { notification } from "./notifications/notifications-command.ts";
import { plugin } from "./plugin/plugin-command.ts";
import { review } from "./review/review-command.ts";
import { run } from "./run/run-command.ts";
import { acp, lsp, mcp, open, orchestrator, serve } from "./serve/serve-command.ts";
import { server } from "./server/server-command.ts";
import { service } from "./service/service-command.ts";
import { session } from "./session/session-command.ts";
import { setup } from "./setup/setup-command.ts";
import { arg, type Command, flag, text } from "./shell/command.ts";
import { token } from "./token/token-command.ts";
import { tool } from "./tools/tools-command.ts";
import { worker } from "./worker/worker-command.ts";

export const help: Command = {
  name: "help",
  summary: "Show what a command does and how it is used",
  args: [arg("[COMMAND...]", "The command")],
  examples: {
    "trunkline help": "List the commands.",
    "trunkline help config show": "The same as `trunkline config show --help`.",
  },
  load: () => import("./help/help.ts"),
};

const completion: Command = {
  name: "completion",
  summary: "Print a script that completes commands in a shell",
  description:
    "When you press Tab, the script runs this command with the words that you have typed.",
  args: [
    arg("SHELL", "The shell to write for", { choices: ["bash", "zsh", "fish"] }),
    arg("[WORD...]", "List what may follow these words instead; what the script does", {
      mayBeEmpty: true,
    }),
  ],
  examples: {
    'eval "$(trunkline completion bash)"': "In ~/.bashrc.",
    "trunkline completion zsh > ~/.zfunc/_trunkline":
      "With ~/.zfunc in fpath before compinit runs.",
    "trunkline completion fish > ~/.config/fish/completions/trunkline.fish":
      "Takes effect in the next fish that you start.",
  },
  load: () => import("./help/completion.ts"),
};

/** The whole program. */
export const PROGRAM: Command = {
  name: "trunkline",
  summary: "Connect editors and assistants to coding agents, tools and git",
  description:
    "Editors and assistants start `trunkline acp` and `trunkline mcp`; `trunkline setup` tells them how.",
  options: {
    mode: text("MODE", "Run this command; how clients of RemoteJuggler start it", {
      choices: ["mcp", "acp"],
      namesCommand: true,
    }),
    version: flag("Print the version", { short: "V" }),
    json: flag("With --version: print JSON"),
  },
  examples: {
    "trunkline demo": "Watch an agent at work, and answer it.",
    "trunkline serve": "Run the gateway.",
    "trunkline help serve": "Read about one command.",
    "trunkline --mode=mcp": "The same as `trunkline mcp`.",
  },
  commands: [
    ...under("Every day", [setup, chat, run, session, review, identity, tool, open, doctor, demo]),
    ...under("Lines of code", [why, blame, stats, notes]),
    ...under("Connect", [server, agent, model, plugin, mcp, acp, lsp]),
    ...under("Operate", [
      serve,
      service,
      token,
      audit,
      notification,
      config,
      worker,
      orchestrator,
      completion,
      help,
    ]),
  ],
};

function under(heading: string, commands: readonly Command[]): Command[] {
  return commands.map((command) => ({ ...command, heading }));
}
