import type { Span } from "../../base/trace.ts";
import type { Meta } from "../agent.ts";

/** A turn whose agent begins to work. */
export interface ObservedTurn {
  readonly session: string;
  readonly turn: string;
  /** The name of the agent. */
  readonly agent: string;
  /** The `_meta` of the prompt. */
  readonly meta: Meta | undefined;
}

/** Observes turns: for traces and histograms. It must not throw. */
export interface TurnObserver {
  begun(turn: ObservedTurn): {
    /** Set where the turn is traced. */
    readonly span?: Span | undefined;
    /** "interrupted" where the agent failed. */
    ended(stopReason: string): void;
  };
}
