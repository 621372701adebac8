import { type Command, json } from "../shell/command.ts";

const VARIABLE = {
  name: "VARIABLE",
  describe: "Environment variable of the key, such as ANTHROPIC_API_KEY",
};

export const models: Command = {
  name: "models",
  summary: "List language models for the built-in agent, and store their API keys",
  examples: [{ run: "trunkline models list", explains: "Ask every provider for its models." }],
  commands: [
    {
      name: "list",
      summary: "List the models; `*` marks the one that new sessions use",
      options: { json },
      examples: [{ run: "trunkline models list", explains: "Ask every provider." }],
      load: async () => ({ run: (await import("./models.ts")).list }),
    },
    {
      name: "key",
      summary: "Store API keys of providers in the system's keychain",
      description: "A key in the environment takes precedence over one in the keychain.",
      examples: [
        {
          run: "trunkline models key set OPENAI_API_KEY",
          explains: "Asks for the key without showing it.",
        },
      ],
      commands: [
        {
          name: "set",
          summary: "Store a key, read from standard input or asked for at a terminal",
          args: [VARIABLE],
          options: { json },
          examples: [
            {
              run: "trunkline models key set ANTHROPIC_API_KEY",
              explains: "Asks for the key without showing it.",
            },
          ],
          load: async () => ({ run: (await import("./models.ts")).setKey }),
        },
        {
          name: "clear",
          summary: "Delete a stored key",
          args: [VARIABLE],
          options: { json },
          examples: [
            {
              run: "trunkline models key clear ANTHROPIC_API_KEY",
              explains: "Delete it from the keychain.",
            },
          ],
          load: async () => ({ run: (await import("./models.ts")).clearKey }),
        },
      ],
    },
  ],
};
