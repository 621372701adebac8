import type { Call } from "../../rpc/peer.ts";
import type { Span } from "../../base/trace.ts";
import type { Profile } from "../../tool/profile/profile.ts";
import {
  type Caller,
  CannotAsk,
  type Project,
  type Question,
  type ToolContext,
} from "../../tool/tool.ts";

/** A running action, for any state type of its connection. */
type RunningAction = Pick<Call, "signal" | "progressed">;

/** A tool call of an IDE. The dialect has no messages for progress, logs or questions. */
export class JugglerToolContext implements ToolContext {
  readonly caller: Caller;
  readonly meta = {};
  readonly folder: string | undefined;
  readonly profile: Profile | undefined;
  project?: Project | undefined;
  span?: Span | undefined;
  readonly #call: RunningAction;

  constructor(
    caller: Caller,
    call: RunningAction,
    { folder, profile }: Pick<ToolContext, "folder" | "profile">,
  ) {
    this.caller = caller;
    this.folder = folder;
    this.profile = profile;
    this.#call = call;
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
