import type { Command } from "../command.ts";

const json = { type: "boolean", describe: "Print JSON" } as const;

export const token: Command = {
  name: "token",
  summary: "Make, list and revoke tokens that let others use this gateway",
  description:
    "Programs on this machine need no token. Those on others send one with every request, once " +
    "`trunkline serve` listens on an address that they can reach.",
  examples: [
    { run: "trunkline token create laptop", explains: "Make a token, and print it this once." },
    { run: "trunkline token list", explains: "What tokens there are, and when they were used." },
  ],
  commands: [
    {
      name: "create",
      summary: "Make a token and print it, this once",
      description:
        "The token alone goes to standard output. Only its hash is kept, so it cannot be shown " +
        "again. The calls made with it are on record under its name, and the policy can go by it.",
      args: [
        { name: "NAME", describe: "Whose it is: a person, a machine, a program", optional: true },
      ],
      options: {
        expires: {
          type: "string",
          value: "TIME",
          describe: "How long it is valid: 90m, 12h, 30d, 8w or 1y; without, until it is revoked",
        },
        json,
      },
      examples: [
        { run: "trunkline token create laptop", explains: "A token until you revoke it." },
        { run: "trunkline token create ci --expires 30d", explains: "One that expires by itself." },
      ],
      load: async () => ({ run: (await import("../token.ts")).create }),
    },
    {
      name: "list",
      summary: "List the tokens, without what would let anybody in",
      options: { json },
      examples: [
        { run: "trunkline token list", explains: "Their names, ids, and when each was last used." },
      ],
      load: async () => ({ run: (await import("../token.ts")).list }),
    },
    {
      name: "revoke",
      summary: "Make a token worthless, in servers that are running too",
      args: [{ name: "NAME", describe: "Its name or its id" }],
      options: { json },
      examples: [
        {
          run: "trunkline token revoke laptop",
          explains: "Whatever it has open ends within a second.",
        },
      ],
      load: async () => ({ run: (await import("../token.ts")).revoke }),
    },
  ],
};
