import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { UNUSED_READER } from "../../../src/fleet/stream-reader.ts";
import { leftInTheEnd } from "../remote-run/run-leftovers.ts";
import { processesWhere } from "../processes.ts";
import type { ChaosFleet } from "./chaos-fleet.ts";
import type { PoolView } from "./pool-view.ts";

/** Milliseconds until what was killed last must be gone. */
const GONE_WITHIN = 60_000;

/** Milliseconds until a worker has noticed that a session was deleted where another had it. */
const FORGOTTEN_WITHIN = 180_000;

/** A lock or socket of a process, and what is written only halfway. */
const OF_A_PROCESS = /\/holders\/.|\/gateways\/.|\.unfinished-|\.sock$|\.tmp$/;

/**
 * Stops all nodes. Throws if that leaves a process, a file that belongs to one, a reader or a waiting
 * request in NATS, or more messages than one for each session that was deleted.
 */
export async function leaveNothing(fleet: ChaosFleet, pool: PoolView): Promise<void> {
  // Workers look from time to time what was deleted while others had it.
  const workers = fleet.of("worker").map(({ name }) => join(fleet.dataOf(name), "run/work"));
  await untilEmpty(
    "workspaces are left",
    () => workers.flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : [])),
    FORGOTTEN_WITHIN,
  );
  const codes = await Promise.all(fleet.nodes.map((node) => node.stop()));
  assert.deepEqual(new Set(codes), new Set([0]), "a node did not end in order");
  await untilEmpty("still running", () =>
    processesWhere(({ environment, command, cwd }) =>
      [cwd, command, ...environment].some((text) => text.includes(fleet.folder)),
    ),
  );
  for (const { name } of fleet.of("worker")) {
    const left = await leftInTheEnd(fleet.folder, join(fleet.dataOf(name), "run"));
    assert.deepEqual(left, [], "something of remote runs is left");
  }
  await untilEmpty("files are left", () =>
    readdirSync(fleet.folder, { recursive: true, encoding: "utf8" }).filter((path) =>
      OF_A_PROCESS.test(path),
    ),
  );
  await pool.stopWatching();
  // Those of nodes that were killed go when nobody has used them for a while.
  await untilEmpty("readers are left", async () => await pool.readers(), 3 * UNUSED_READER);
  assert.deepEqual(await pool.waiting(), 0, "requests for slots are left");
  const more = (counts: Map<string, number>, most: (subject: string) => number): string[] =>
    [...counts].flatMap(([subject, count]) => (count > most(subject) ? `${count} ${subject}` : []));
  const { eventStreams, checkpoints } = pool.subjects;
  for (const stream of eventStreams) {
    const events = more(await pool.messages(stream), () => 1);
    assert.deepEqual(events, [], "events of deleted sessions are left");
  }
  // An object store keeps one message that an object was deleted, and nothing of what was in it.
  const parts = `$O.${checkpoints}.C.`;
  const objects = more(await pool.messages(`OBJ_${checkpoints}`), (subject) =>
    subject.startsWith(parts) ? 0 : 1,
  );
  assert.deepEqual(objects, [], "checkpoints of deleted sessions are left");
}

async function untilEmpty(
  what: string,
  find: () => readonly unknown[] | Promise<readonly unknown[]>,
  within = GONE_WITHIN,
): Promise<void> {
  const giveUp = performance.now() + within;
  for (;;) {
    const left = await find();
    if (left.length === 0) return;
    assert.ok(performance.now() < giveUp, `${what}: ${JSON.stringify(left)}`);
    await delay(100);
  }
}
