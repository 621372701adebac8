import { rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";

import type { Log } from "../../base/log.ts";
import { untilAborted } from "../../base/abort.ts";
import { sendJson } from "./http-answers.ts";

export interface ReadinessOptions {
  readonly data: string;
  /** Opens the session store if need be, and rejects if it cannot be written. */
  readonly checkStore: () => Promise<void>;
  /** Why a node of a fleet can store nothing in NATS, in words; undefined if it can, or needs none. */
  readonly natsProblem: () => Promise<string | undefined>;
  readonly log: Log;
}

/** Milliseconds for which an answer holds: anybody may ask. */
const HOLDS = 1_000;
/** Milliseconds for a store to answer. */
const PATIENCE = 3_000;
/** Bytes that must fit on the disk. */
const ROOM = 64 * 1024;

/** Whether the gateway can do its work now (readiness, not liveness). */
export class Readiness {
  readonly #options: ReadinessOptions;
  #asked: Promise<readonly string[]> | undefined;
  #last = "";

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** The problems, in words for anybody; the log has the reasons. */
  problems(): Promise<readonly string[]> {
    this.#asked ??= this.#look().finally(() => {
      setTimeout(() => (this.#asked = undefined), HOLDS).unref();
    });
    return this.#asked;
  }

  async answer(response: ServerResponse): Promise<void> {
    const problems = await this.problems();
    const state = problems.length === 0 ? { status: "ready" } : { status: "not ready", problems };
    sendJson(response, state, {}, problems.length === 0 ? 200 : 503);
  }

  async #look(): Promise<readonly string[]> {
    const { natsProblem, checkStore, log } = this.#options;
    const problems: string[] = [];
    const reasons: unknown[] = [];
    const signal = AbortSignal.timeout(PATIENCE);
    const checked = [untilAborted(checkStore(), signal), this.#checkRoom()];
    const [[store, room], nats] = await Promise.all([Promise.allSettled(checked), natsProblem()]);
    if (nats !== undefined) problems.push(nats);
    if (store?.status === "rejected") problems.push("the session store cannot be written");
    if (room?.status === "rejected") problems.push("the data folder cannot be written");
    for (const each of [store, room]) if (each?.status === "rejected") reasons.push(each.reason);
    const now = problems.join("; ");
    if (now !== this.#last) {
      if (now === "") log.info("gateway.ready");
      else log.warn("gateway.not-ready", { problems, reasons: reasons.map(String) });
    }
    this.#last = now;
    return problems;
  }

  async #checkRoom(): Promise<void> {
    const file = join(this.#options.data, `ready-${process.pid}.tmp`);
    try {
      await writeFile(file, Buffer.alloc(ROOM), { mode: 0o600 });
    } finally {
      await rm(file, { force: true });
    }
  }
}
