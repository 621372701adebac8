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

/** One command in a sandbox; disposed of when it has ended. */
export interface Confinement extends Disposable {
  readonly confine: Confine;
  /** The hosts that it was kept from, each with the reason. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Opens the sandbox for the commands of a session that works in these folders. */
export type OpenCommandSandbox = (folders: readonly string[]) => CommandSandbox;
