/** What a check found. */
export interface Finding {
  /** "warn": works, with a drawback. "fail": does not work. */
  readonly state: "ok" | "warn" | "fail";
  readonly what: string;
  readonly says: string;
  /** What to do about it. */
  readonly next?: string;
  /** The command that mends it, as it is typed in a shell. */
  readonly command?: string;
  /** What `trunkline doctor --fix` does about it. */
  readonly fix?: Fix;
}

export interface Fix {
  /** What it does, in words that can follow "Fixed:" and precede a question mark. */
  readonly does: string;
  /** It puts something aside that a person may miss, so that person is asked first. */
  readonly asks?: boolean;
  /** Throws if it cannot be done. */
  readonly apply: () => Promise<unknown>;
}

/** The command that applies all fixes. */
export const FIX_COMMAND = "trunkline doctor --fix";

/** A remedy that is one command. */
export function byCommand(command: string): Pick<Finding, "next" | "command"> {
  return { next: `Run: ${command}`, command };
}

/** A remedy that `trunkline doctor --fix` applies. */
export function byFix(fix: Fix): Pick<Finding, "next" | "command" | "fix"> {
  return { ...byCommand(FIX_COMMAND), fix };
}
