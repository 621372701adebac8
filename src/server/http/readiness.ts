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
export function readinessOf({ data, checkStore, natsProblem, log }: ReadinessOptions) {
  let asked: Promise<readonly string[]> | undefined;
  let last = "";

  /** The problems, in words for anybody; the log has the reasons. */
  function problems(): Promise<readonly string[]> {
    asked ??= look().finally(() => {
      setTimeout(() => (asked = undefined), HOLDS).unref();
    });
    return asked;
  }

  async function answer(response: ServerResponse): Promise<void> {
    const found = await problems();
    const isReady = found.length === 0;
    const state = isReady ? { status: "ready" } : { status: "not ready", problems: found };
    sendJson(response, state, {}, isReady ? 200 : 503);
  }

  async function look(): Promise<readonly string[]> {
    const problems: string[] = [];
    const reasons: unknown[] = [];
    const signal = AbortSignal.timeout(PATIENCE);
    const checked = [untilAborted(checkStore(), signal), checkRoom()];
    const [[store, room], nats] = await Promise.all([Promise.allSettled(checked), natsProblem()]);
    if (nats !== undefined) problems.push(nats);
    if (store?.status === "rejected") problems.push("the session store cannot be written");
    if (room?.status === "rejected") problems.push("the data folder cannot be written");
    for (const each of [store, room]) if (each?.status === "rejected") reasons.push(each.reason);
    const now = problems.join("; ");
    if (now !== last) {
      if (now === "") log.info("gateway.ready");
      else log.warn("gateway.not-ready", { problems, reasons: reasons.map(String) });
    }
    last = now;
    return problems;
  }

  async function checkRoom(): Promise<void> {
    const file = join(data, `ready-${process.pid}.tmp`);
    try {
      await writeFile(file, Buffer.alloc(ROOM), { mode: 0o600 });
    } finally {
      await rm(file, { force: true });
    }
  }

  return { problems, answer };
}
