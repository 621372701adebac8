import type { Stop } from "../../base/stop.ts";
import type { Project } from "../../tool/project.ts";
import { type Caller, CannotAsk, type Question, type ToolContext } from "../../tool/tool.ts";

/** The action while it runs, whatever its connection keeps. */
type Work = Stop & { progressed(): void };

/** What a tool may do while it runs for an IDE: the dialect has no way to tell or ask anything. */
export class JugglerToolContext implements ToolContext {
  readonly caller: Caller;
  readonly meta = {};
  readonly folder: string | undefined;
  project?: Project | undefined;
  readonly #call: Work;

  constructor(caller: Caller, call: Work, folder: string | undefined) {
    this.caller = caller;
    this.folder = folder;
    this.#call = call;
  }

  get stop(): Stop {
    return this.#call;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  progress(): void {
    this.#call.progressed();
  }

  log(): void {}

  canAsk(): boolean {
    return false;
  }

  async ask(question: Question): Promise<never> {
    throw new CannotAsk(question);
  }
}
