import { type Command, json } from "../shell/command.ts";

const VARIABLE = {
  name: "VARIABLE",
  describe: "What the key is called in the environment: ANTHROPIC_API_KEY",
};

export const models: Command = {
  name: "models",
  summary: "List the language models that the built-in agent can use, and keep their keys",
  examples: [{ run: "trunkline models list", explains: "Ask every provider which models it has." }],
  commands: [
    {
      name: "list",
      summary: "List the models there are; sessions begin with the one that is marked",
      options: { json },
      examples: [{ run: "trunkline models list", explains: "Ask every provider." }],
      load: async () => ({ run: (await import("./models.ts")).list }),
    },
    {
      name: "key",
      summary: "Keep providers' keys in the system's keychain",
      description: "A key in the environment counts before one in the keychain.",
      examples: [
        {
          run: "trunkline models key set OPENAI_API_KEY",
          explains: "Asks for the key, and does not show it.",
        },
      ],
      commands: [
        {
          name: "set",
          summary: "Keep a key, read from standard input or asked for",
          args: [VARIABLE],
          options: { json },
          examples: [
            {
              run: "trunkline models key set ANTHROPIC_API_KEY",
              explains: "Asks for the key, and does not show it.",
            },
          ],
          load: async () => ({ run: (await import("./models.ts")).setKey }),
        },
        {
          name: "clear",
          summary: "Forget a key",
          args: [VARIABLE],
          options: { json },
          examples: [
            { run: "trunkline models key clear ANTHROPIC_API_KEY", explains: "It is gone." },
          ],
          load: async () => ({ run: (await import("./models.ts")).clearKey }),
        },
      ],
    },
  ],
};
