import type { AuditLog } from "../store/audit-log.ts";
import type { Audit, AuditEntry } from "../tool/audit.ts";
import type { House } from "./house.ts";

/**
 * The record of calls, loaded with the first call there is. What is recorded before that waits, so
 * nothing is missing and the order is kept.
 */
export class LateAudit implements Audit, AsyncDisposable {
  readonly #house: House;
  #log: AuditLog | undefined;
  #opening: Promise<void> | undefined;
  #waiting: AuditEntry[] = [];

  constructor(house: House) {
    this.#house = house;
  }

  record(entry: AuditEntry): void {
    if (this.#log !== undefined) {
      this.#log.record(entry);
      return;
    }
    this.#waiting.push(entry);
    this.#opening ??= this.#load();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening;
    await this.#log?.[Symbol.asyncDispose]();
  }

  async #load(): Promise<void> {
    const { AuditLog } = await import("../store/audit-log.ts");
    const { config, log: diagnostics } = this.#house;
    const log = new AuditLog(config.data, {
      // A call that is not on record is no matter of a warning, which short commands do not show.
      report: (event, fields) => diagnostics.error(event, fields),
    });
    for (const entry of this.#waiting) log.record(entry);
    this.#waiting = [];
    this.#log = log;
  }
}
