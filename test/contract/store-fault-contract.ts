import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

import { type DiskCall, DiskFaults, type Fault } from "../support/disk-faults.ts";

/** One thing that a client of a door does. It throws, with the words that it was answered with. */
export interface Step {
  readonly name: string;
  readonly run: () => Promise<unknown>;
}

/** A door with all that stands behind it, in this process, and what its clients do. */
export interface FaultRig extends AsyncDisposable {
  /** Where its stores are. */
  readonly folder: string;
  /** What is needed for a round, made while the disk is well. */
  prepare?(): Promise<void>;
  /** One of everything that touches the disk. Each step stands for itself. */
  readonly steps: readonly Step[];
  /** What must be true at the end: all that was acknowledged is there. */
  verify?(): Promise<void>;
}

export interface ContractOptions {
  /** How many of the calls to the disk fail, in each way. */
  readonly most: number;
  /** Of the ways to fail, by their place, those that are tried. */
  readonly isTried: (place: number) => boolean;
  readonly report: (line: string) => void;
}

interface Outcome {
  readonly step: string;
  readonly error: string | undefined;
}

/** Whether it lasts, as a full disk and a lock do, or strikes once. */
const FAULTS: readonly { readonly fault: Fault; readonly lasts: boolean }[] = [
  { fault: "ENOSPC", lasts: true },
  { fault: "EIO", lasts: false },
  { fault: "SQLITE_BUSY", lasts: true },
  { fault: "torn", lasts: false },
];
/** Milliseconds that any step may take before it counts as not answered. */
const PATIENCE = 600_000;

/**
 * What every door promises of its stores: whichever call to the disk fails, and however, each request
 * is answered, a failure in words; and once the disk is well all works again, in the same process.
 */
export async function storeFaultContract(
  rig: FaultRig,
  { most, isTried, report }: ContractOptions,
): Promise<void> {
  using disk = new DiskFaults(rig.folder);
  // The first round opens what is opened once.
  allWell(await oneRound(rig), "before any fault");
  disk.calls = [];
  allWell(await oneRound(rig), "before any fault");
  const stride = Math.max(1, Math.ceil(disk.calls.length / most));
  for (const [number, { fault, lasts }] of FAULTS.entries()) {
    if (!isTried(number)) continue;
    // Where not all are taken, each fault strikes at other calls.
    let at = stride === 1 ? 0 : Math.floor((stride * number) / FAULTS.length);
    let hits = 0;
    while (hits < most) {
      let hit: DiskCall | undefined;
      await rig.prepare?.();
      disk.calls = [];
      disk.decide = (call, index) => {
        if (lasts ? index < at : index !== at) return undefined;
        hit ??= call;
        return fault;
      };
      const outcomes = await play(rig);
      disk.decide = () => undefined;
      if (hit === undefined) {
        // A round may touch the disk less often than the one that was counted.
        if (hits > 0 || at === 0) break;
        at = Math.floor(at / 2);
        continue;
      }
      const where = `${fault} at call ${at}: ${hit.operation} of ${hit.path}`;
      inWords(outcomes, where);
      allWell(await oneRound(rig), `after ${where}`);
      hits++;
      at += stride;
    }
    report(`${fault}: one in ${stride} of ${at} calls`);
    assert.ok(hits > 0, "nothing touched the disk");
  }
  await rig.verify?.();
}

/** Calls to the disk while stores are opened, each the first that fails. */
export const COLD_CALLS = [0, 3, 8, 15];

/** The same while stores are being opened: the disk is full from a call on. */
export async function coldFaultContract(open: () => Promise<FaultRig>, at: number): Promise<void> {
  await using rig = await open();
  using disk = new DiskFaults(rig.folder);
  await rig.prepare?.();
  disk.calls = [];
  disk.decide = (_, index) => (index < at ? undefined : "ENOSPC");
  const when = `ENOSPC from call ${at} on, in a program that has opened nothing yet`;
  inWords(await play(rig), when);
  disk.decide = () => undefined;
  allWell(await oneRound(rig), `after ${when}`);
}

async function oneRound(rig: FaultRig): Promise<Outcome[]> {
  await rig.prepare?.();
  return play(rig);
}

async function play({ steps }: FaultRig): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { name, run } of steps) {
    outcomes.push({ step: name, error: await outcomeOf(name, run) });
  }
  return outcomes;
}

async function outcomeOf(name: string, run: () => Promise<unknown>): Promise<string | undefined> {
  const late = new AbortController();
  const timer = delay(PATIENCE, undefined, { signal: late.signal }).then(
    () => assert.fail(`'${name}' was not answered`),
    () => {},
  );
  try {
    await Promise.race([run(), timer]);
    return undefined;
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return (error as Error).message;
  } finally {
    late.abort();
  }
}

function allWell(outcomes: readonly Outcome[], when: string): void {
  const failed = outcomes.filter(({ error }) => error !== undefined);
  assert.deepEqual(failed, [], when);
}

/**
 * What a fault of the program is answered with; it says nothing that anybody could act on. Nor is a token
 * wrong because a disk fails.
 */
const BARE =
  /^internal error$|because of a fault|see the log|in its log|log of the gateway|token is not|wrong tokens/i;

function inWords(outcomes: readonly Outcome[], when: string): void {
  const bare = outcomes.filter(({ error }) => error === "" || BARE.test(error ?? "words"));
  assert.deepEqual(bare, [], when);
}
