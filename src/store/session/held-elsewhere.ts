import { TrunklineError } from "../../base/errors.ts";

/** Another process has a session open. */
export class HeldElsewhere extends TrunklineError {
  /** The id under which it holds the session. */
  readonly holder: string;

  constructor(id: string, holder: string, where = `process ${holder.split("-", 1)[0]}`) {
    const next = "Close it there first.";
    super("conflict", `Session '${id}' is open in another Trunkline (${where}). ${next}`);
    this.holder = holder;
  }
}
