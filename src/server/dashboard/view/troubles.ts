import { TrunklineError } from "../../../base/errors.ts";
import { mayUseAll } from "../../../base/principal.ts";
import { maskText } from "../../../base/text/mask.ts";
import type { Trouble } from "../api.ts";
import type { LiveRows } from "../live/live-rows.ts";

/** Tells people of failures that no row shows. */
export class Troubles {
  readonly #live: LiveRows;

  constructor(live: LiveRows) {
    this.#live = live;
  }

  add(what: string, error: unknown): void {
    const why = error instanceof TrunklineError ? error.message : "see the log of the server.";
    const id = crypto.randomUUID();
    const says = maskText(`${what}: ${why}`);
    const trouble: Trouble = { id, at: Date.now(), level: "error", says };
    this.#live.set("trouble", id, trouble, mayUseAll);
  }
}
