import type { Confiner } from "../../base/process/child-process.ts";

/** Asks whether a command may connect to a host. */
export type HostConsent = (host: string) => Promise<boolean>;

/** Where the commands of a session run. */
export interface CommandSandbox extends AsyncDisposable {
  /** Whether a command may run outside of it when the person allows that. */
  readonly mayBeLeft: boolean;
  /**
   * False if this machine supports no sandbox and commands may run without one. Throws "unavailable" if
   * they may not, or if something else prevents it.
   */
  isThere(): Promise<boolean>;
  /** Lets the next command in; without a network if nobody can be asked. Throws "unavailable" if there is none. */
  enter(ask?: HostConsent): Promise<Confinement>;
}

/** One command in a sandbox. Disposing of it when it has ended takes over what it did with git. */
export interface Confinement extends AsyncDisposable {
  readonly confine: Confiner;
  /** The hosts that it was kept from, each with the reason. */
  readonly refused: ReadonlyMap<string, string>;
  /** Whether a path of the machine can be seen in it, if it exists. */
  isShown(path: string): boolean;
  /** What was not taken over when it had ended, in words. */
  readonly notes: readonly string[];
  /** Possible reasons for a failure of the command, in words. */
  readonly limits: readonly string[];
}

/** Opens the sandbox for the commands of a session that works in these folders. */
export type CommandSandboxOpener = (folders: readonly string[]) => CommandSandbox;

/** What the sandbox kept a command from, for the model. */
export function confinementNotes({ refused, notes }: Confinement): string[] {
  return [
    ...Array.from(refused.values(), (why) => `The sandbox refused a connection: ${why}.`),
    ...notes.map((note) => `Git: ${note}.`),
  ];
}
