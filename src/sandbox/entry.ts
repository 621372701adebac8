/** What `enter-main.ts` is told, as JSON in its only argument. */
export interface Entry {
  /** Absolute: nothing is looked for any more. */
  readonly program: string;
  readonly args: readonly string[];
  /** Gone to by its user: root without its rights may not go there. */
  readonly cwd: string;
  /** What may be read and what may be changed, each with all that is in it. */
  readonly landlock?: { readonly read: readonly string[]; readonly write: readonly string[] };
  /** Variables that name the way out; `PROXY` in them stands for its address. */
  readonly proxyVariables: Readonly<Record<string, string>>;
}
