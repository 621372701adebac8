import type { Confine } from "../../base/process/child-process.ts";

/** Asks whether a command may connect to a host. */
export type AskHost = (host: string) => Promise<boolean>;

/** Where the commands of a session run. */
export interface CommandSandbox extends AsyncDisposable {
  /** Whether a command may run outside of it when the person allows that. */
  readonly mayBeLeft: boolean;
  /**
   * Lets the next command in; undefined where commands run without a sandbox. Throws "unavailable"
   * where they may not, and there is none.
   */
  enter(ask: AskHost): Promise<Confinement | undefined>;
}

/** One command in a sandbox. Disposing of it when it has ended takes over what it did with git. */
export interface Confinement extends AsyncDisposable {
  readonly confine: Confine;
  /** The hosts that it was kept from, each with the reason. */
  readonly refused: ReadonlyMap<string, string>;
  /** What was not taken over when it had ended, in words. */
  readonly notes: readonly string[];
  /** What may be why it failed, in words. */
  readonly limits: readonly string[];
}

/** Opens the sandbox for the commands of a session that works in these folders. */
export type OpenCommandSandbox = (folders: readonly string[]) => CommandSandbox;

/** What the sandbox kept a command from, for the model. */
export function confinementNotes({ refused, notes }: Confinement): string[] {
  return [
    ...Array.from(refused.values(), (why) => `The sandbox refused a connection: ${why}.`),
    ...notes.map((note) => `Git: ${note}.`),
  ];
}
