import { atMost } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Config } from "../../config/config.ts";
import { AppContext } from "../../config/app-context.ts";

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

/** What a check returns. Without `what`, the finding is about the subject of the check. */
export type CheckResult = Omit<Finding, "what"> & Partial<Pick<Finding, "what">>;

/** What to do about a finding. */
type Remedy = Pick<Finding, "next" | "command" | "fix">;

export function ok(says: string, remedy?: string | Remedy): CheckResult {
  return { state: "ok", says, ...asRemedy(remedy) };
}

export function warn(says: string, remedy: string | Remedy): CheckResult {
  return { state: "warn", says, ...asRemedy(remedy) };
}

export function fail(says: string, remedy: string | Remedy): CheckResult {
  return { state: "fail", says, ...asRemedy(remedy) };
}

function asRemedy(remedy: string | Remedy | undefined): Remedy | undefined {
  return typeof remedy === "string" ? { next: remedy } : remedy;
}

/** The command that applies all fixes. */
export const FIX_COMMAND = "trunkline doctor --fix";

/** A remedy that is one command. */
export function byCommand(command: string): Remedy {
  return { next: `Run: ${command}`, command };
}

/** A remedy that `trunkline doctor --fix` applies. */
export function byFix(fix: Fix): Remedy {
  return { ...byCommand(FIX_COMMAND), fix };
}

export interface Check {
  readonly what: string;
  /** May reject: that is a finding, too. */
  readonly examine: (
    allowance: CheckLimits,
  ) => Promise<readonly CheckResult[]> | readonly CheckResult[];
}

/** The limits of a check. */
export interface CheckLimits {
  /** Milliseconds until the check is given up. */
  readonly patience: number;
  /** Aborted when the check is given up. */
  readonly signal: AbortSignal;
  /** Tracks work that goes on after the findings are known, such as ending a process. */
  readonly endsLater: (work: Promise<unknown>) => void;
}

interface ChecksOptions {
  /** Milliseconds for each check. */
  readonly patience: number;
  /** What to do about a check that took longer. */
  readonly ifLate: string;
  /** Adds the stack to the message of a check that failed. */
  readonly isVerbose?: boolean;
}

/** Runs checks at the same time. A check that throws or hangs becomes a finding, and does not affect the others. */
export class Checks {
  readonly #options: ChecksOptions;
  readonly #unfinished = new Set<Promise<unknown>>();

  constructor(options: ChecksOptions) {
    this.#options = options;
  }

  /** The findings, in the order of the checks. */
  async *run(checks: readonly Check[]): AsyncGenerator<Finding> {
    for (const result of checks.map((check) => this.#examine(check))) yield* await result;
  }

  /** Waits for work that the checks have left running. Returns whether all of it has ended. */
  async settled(patience: number): Promise<boolean> {
    return (await atMost(patience, Promise.all(this.#unfinished))) !== undefined;
  }

  async #examine({ what, examine }: Check): Promise<readonly Finding[]> {
    const { patience } = this.#options;
    const giveUp = new AbortController();
    const { signal } = giveUp;
    const endsLater = (work: Promise<unknown>): void => this.#follow(work);
    // Begins in a later turn, so that a check which blocks the thread does not delay the others' start.
    const found = new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => examine({ patience, signal, endsLater }))
      .catch((error: unknown) => [this.#failed(what, error)]);
    this.#follow(found);
    const findings = await atMost(patience, found);
    if (findings !== undefined) return findings.map((each) => ({ what, ...each }));
    giveUp.abort(new Error(`It took longer than ${patience} ms`));
    const says = `gave no answer within ${seconds(patience)} s, so it was not checked`;
    return [{ state: "warn", what, says, next: this.#options.ifLate }];
  }

  #follow(work: Promise<unknown>): void {
    const over = work
      .catch(() => {})
      .then(() => {
        this.#unfinished.delete(over);
      });
    this.#unfinished.add(over);
  }

  #failed(what: string, error: unknown): Finding {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    const isStackShown = this.#options.isVerbose === true && stack !== undefined;
    const says = `could not be checked: ${isStackShown ? stack : message}`;
    // A failure that was foreseen says what to do.
    const next =
      error instanceof TrunklineError
        ? "Do as the message says, or fix the other findings first."
        : "If this message does not help, run `trunkline doctor --verbose` and report it.";
    return { state: "fail", what, says, next };
  }
}

export function seconds(milliseconds: number): string {
  return String(Math.round(milliseconds / 100) / 10);
}

/** The program of a check. It logs errors only: what goes wrong is a finding. */
export function silentApp(config: Config): AppContext {
  return new AppContext({ ...config, log: { level: "error", verbose: false, requests: false } });
}
