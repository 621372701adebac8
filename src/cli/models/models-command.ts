import { arg, type Command, commandsIn, flag, text } from "../shell/command.ts";

const VARIABLE = arg("VARIABLE", "Environment variable of the key, such as ANTHROPIC_API_KEY");

export const model: Command = {
  name: "model",
  formerly: ["models"],
  summary: "List and add language models for the built-in agent, and store their API keys",
  examples: { "trunkline model list": "Ask every provider for its models." },
  commands: commandsIn(() => import("./models.ts"), {
    list: {
      summary: "List the models; `*` marks the one that new sessions use",
      examples: { "trunkline model list": "Ask every provider." },
    },
    add: {
      summary: "Add a provider of language models to your configuration file",
      description:
        "The key is neither an argument nor in the file: it is in an environment variable, or in the " +
        "system's keychain under the name of that variable.",
      args: [arg("NAME", "Name of the provider, the first part of its models' names")],
      options: {
        type: text("TYPE", "API of the provider", {
          choices: ["openai-compatible", "anthropic", "openai", "google"],
        }),
        "base-url": text("URL", "Address of the provider, such as http://127.0.0.1:8000/v1"),
        "key-variable": text(
          "VARIABLE",
          "Environment variable of the key; with --key, NAME_API_KEY when left out",
        ),
        key: flag("Ask for the key, or read it from standard input, and store it in the keychain"),
        model: text(
          "MODEL...",
          "Model to offer even if the provider does not list it; may be repeated",
        ),
        replace: flag("Replace a provider with the same name"),
      },
      examples: {
        "trunkline model add local --base-url http://127.0.0.1:8000/v1":
          "Add a server on this machine.",
        "trunkline model add proxy --type anthropic --base-url https://llm.example.com --key-variable PROXY_KEY":
          "Add a provider whose key is in a variable.",
      },
    },
    remove: {
      summary: "Remove a provider from your configuration file",
      args: [arg("NAME", "Name of the provider", { names: "provider" })],
      examples: { "trunkline model remove local": "Its key stays where it is." },
    },
    key: {
      summary: "Store API keys of providers in the system's keychain",
      description:
        "A key in the environment takes precedence over a stored one. Secrets that MCP servers refer to " +
        "as `${keychain:NAME}`, and those that `remote.setup` names for remote runs, are stored in the " +
        "same way. Where there is no keychain, an encrypted file in the data folder holds them; `set` " +
        "prints which.",
      examples: {
        "trunkline model key set OPENAI_API_KEY": "Asks for the key without showing it.",
      },
      commands: commandsIn(() => import("./models.ts"), {
        setKey: {
          name: "set",
          summary: "Store a key, read from standard input or asked for at a terminal",
          args: [VARIABLE],
          examples: {
            "trunkline model key set ANTHROPIC_API_KEY": "Asks for the key without showing it.",
          },
        },
        clearKey: {
          name: "clear",
          summary: "Delete a stored key",
          args: [VARIABLE],
          examples: {
            "trunkline model key clear ANTHROPIC_API_KEY": "Delete it from the keychain.",
          },
        },
      }),
    },
  }),
};
