/** Options and arguments that many commands about identities have. */
export const repo = {
  type: "string",
  value: "DIR",
  describe: "The repository, instead of the one in the current folder",
} as const;
export const name = { name: "NAME", describe: "The identity" } as const;
export const dryRun = { type: "boolean", describe: "Print every change, and make none" } as const;
