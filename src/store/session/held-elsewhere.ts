import { TrunklineError } from "../../base/errors.ts";

/** Another process has a session open. */
export class HeldElsewhere extends TrunklineError {
  /** The id under which it holds the session. */
  readonly holder: string;

  /** `worker` names the worker of a fleet that has it open, or is to open it. */
  constructor(id: string, holder: string, worker?: string) {
    const [where, next] =
      worker === undefined
        ? [`in another Trunkline (process ${holder.split("-", 1)[0]})`, "Close it there first"]
        : [`on ${worker}, which cannot be reached at the moment`, "Try again in some seconds"];
    super("conflict", `Session '${id}' is open ${where}. ${next}.`);
    this.holder = holder;
  }
}
