import type { Json } from "../acp-app.ts";
import type { Program } from "../program.ts";
import type { AskedFor, View } from "./shown.ts";

/** How a prompt ended; undefined where its sender is not told. */
export type Outcome = { readonly stopReason?: string; readonly error?: Json } | undefined;

/** A client of the session, with a process that can be killed. */
export interface Member {
  /** The process that is killed. */
  readonly pid: number;
  /** Runs that process. */
  readonly program: Program;
  readonly view: View;
  readonly asked: AskedFor;
  /** Sends a prompt. Resolves when its turn has ended, or with undefined where that is not told. */
  prompt(words: string): Promise<Outcome>;
  cancel(): void;
  /** Allows what a request asks for. */
  allow(title: string): void;
}
