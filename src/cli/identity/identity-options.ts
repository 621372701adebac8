/** Options and arguments that several commands about identities share. */
export const repo = {
  type: "string",
  value: "DIR",
  describe: "The repository, instead of the one in the current folder",
} as const;
export const name = { name: "NAME", describe: "The identity" } as const;
export const dryRun = {
  type: "boolean",
  describe: "Print the changes without making them",
} as const;
