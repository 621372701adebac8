import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { SeededRandom } from "../seeded-random.ts";
import { checkBranches } from "./check-branches.ts";
import { controlGroups, leftInTheEnd } from "./run-leftovers.ts";
import { RunRig } from "./run-rig.ts";
import { SoakSession } from "./soak-session.ts";

export interface SoakOptions {
  readonly sessions: number;
  readonly repositories: number;
  /** Turns of each session, and more if the last was lost. */
  readonly turns: number;
  /** How often the server is killed with SIGKILL while sessions work. */
  readonly kills: number;
  readonly seed: number;
}

export interface SoakResult {
  readonly turns: number;
  readonly answered: number;
  readonly disconnects: number;
  readonly seconds: number;
}

/**
 * Runs many sessions at once on a server that is killed again and again, and whose clients reconnect.
 * Throws if a finished turn is missing on the remote, or is there twice, or if anything is left behind.
 */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { sessions: count, repositories, turns, kills, seed } = options;
  const random = new SeededRandom(seed);
  const begun = performance.now();
  const running = { running: 32, runningEach: 16, waitingEach: count };
  await using run = await RunRig.start({ config: { remote: { turns: running } } });
  const projects = Array.from({ length: repositories }, (_, at) => run.project(`app${at}`));
  const progress = { ended: 0, isOver: false };
  const sessions = Array.from({ length: count }, (_, at) => {
    const project = projects[at % repositories];
    if (project === undefined) throw new Error("There is no repository to work on");
    return new SoakSession(run, project, at, seed, () => progress.ended++);
  });
  const work = Promise.all(sessions.map((session) => session.work(turns))).finally(
    () => (progress.isOver = true),
  );
  // If one fails, the test ends without waiting for the next kill.
  const killing = (async () => {
    for (let kill = 1; kill <= kills && !progress.isOver; kill++) {
      const due = Math.floor((kill * count * turns) / (kills + 1));
      while (progress.ended < due && !progress.isOver) await delay(20);
      await delay(random.below(1_000));
      await run.killAndRestart();
    }
  })();
  try {
    await work;
    await killing;
  } catch (error) {
    throw new Error(`${String(error)}\n${run.log.slice(-8_000)}`, { cause: error });
  } finally {
    progress.isOver = true;
    await killing.catch(() => {});
    for (const session of sessions) session[Symbol.dispose]();
  }
  for (const project of projects) {
    checkBranches(
      project.bare,
      sessions.filter((session) => session.project === project),
    );
  }
  // Including sessions that no client knows, because the server was killed before it could answer.
  const workspaces = readdirSync(join(run.folder, "work"));
  await cleanUp(run);
  const left = [...(await leftInTheEnd(run.rig.root, run.folder)), ...controlGroups(workspaces)];
  assert.deepEqual(left, [], "something is left");
  const all = sessions.flatMap((session) => session.turns);
  return {
    turns: all.length,
    answered: all.filter((turn) => turn.run !== undefined).length,
    disconnects: sessions.reduce((sum, session) => sum + session.disconnects, 0),
    seconds: Math.round((performance.now() - begun) / 1000),
  };
}

/** Deletes all sessions, including those that no client knows, and ends the server. */
async function cleanUp(run: RunRig): Promise<void> {
  {
    using ide = await run.connect();
    for (;;) {
      const { sessions } = await ide.ask("session/list", {});
      if (sessions.length === 0) break;
      for (const { sessionId } of sessions) await ide.ask("session/delete", { sessionId });
    }
  }
  await run.stop();
}
