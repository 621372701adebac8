import type { AuditLog } from "../store/audit-log.ts";
import type { Audit, AuditEntry } from "../tool/audit.ts";

/**
 * The record of calls, loaded with the first call there is. What is recorded before that waits, so
 * nothing is missing and the order is kept.
 */
export class LateAudit implements Audit, AsyncDisposable {
  readonly #open: () => Promise<AuditLog>;
  #log: AuditLog | undefined;
  #opening: Promise<void> | undefined;
  #waiting: AuditEntry[] = [];

  constructor(open: () => Promise<AuditLog>) {
    this.#open = open;
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
    const log = await this.#open();
    for (const entry of this.#waiting) log.record(entry);
    this.#waiting = [];
    this.#log = log;
  }
}
