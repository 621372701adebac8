import type { SessionUpdate } from "../agent.ts";

/** A turn in which an agent may change files. */
export interface RecordedTurn {
  readonly session: string;
  readonly turn: string;
  readonly agent: string;
  readonly model: string | undefined;
  /** Where the agent works. */
  readonly folder: string;
}

/** Records what one turn does to files. */
export interface TurnRecording {
  /** Resolves when the files are known as they were before the turn. */
  readonly ready: Promise<void>;
  saw(update: SessionUpdate): void;
  /** Resolves when all is recorded. */
  ended(): Promise<void>;
}

/** Records who changes which files. It must not throw. */
export interface WorkRecorder {
  /** Undefined where there is nothing to record, such as outside of repositories. */
  begin(turn: RecordedTurn): TurnRecording | undefined;
}
