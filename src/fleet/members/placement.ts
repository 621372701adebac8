import type { Member } from "./beat.ts";

/** What a session asks of the worker that is to hold it. */
export interface PlacementRequest {
  /** Its id, unless it is a new one. */
  readonly session?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Address of the repository that it works on. A worker that has it in its cache is preferred. */
  readonly repository?: string | undefined;
  /** The process that had the session open and counts as dead; workers are told. */
  readonly lost?: string | undefined;
  /** Ids of workers that were tried in vain. */
  readonly exclude?: readonly string[] | undefined;
}

export interface PlacementView {
  readonly pool: string;
  /** Of the gateway that asks. */
  readonly version: string;
  readonly members: readonly Member[];
  /** Whether nothing was heard of a member lately, though it does not count as dead yet. */
  readonly isSilent?: ((id: string) => boolean) | undefined;
}

/** `workers` fit, the best first, whether or not they have a free slot; where none fits, `refusal` says why. */
export type Placement =
  | { readonly workers: readonly Member[] }
  | { readonly workers: readonly []; readonly refusal: string };

/** Chooses among the workers. Of equal ones any may come first, so that gateways spread their sessions. */
export function placeSession(
  { pool, version, members, isSilent = () => false }: PlacementView,
  { labels = {}, repository, exclude = [] }: PlacementRequest,
  random: () => number = Math.random,
): Placement {
  const workers = members.filter(({ role, id }) => role === "worker" && !exclude.includes(id));
  if (workers.length === 0) return refuse(`pool '${pool}' has no ${anyWorker(exclude)}`);
  const running = workers.filter(({ isDraining }) => !isDraining);
  if (running.length === 0) return refuse(`${all(workers)} of pool '${pool}' ${drain(workers)}`);
  const labelled = running.filter((worker) => hasLabels(worker, labels));
  if (labelled.length === 0) return refuse(`no worker of pool '${pool}' has ${words(labels)}`);
  const fitting = labelled.filter((worker) => isCompatible(worker.version, version));
  if (fitting.length === 0) {
    const found = [...new Set(labelled.map((worker) => worker.version))].toSorted().join(", ");
    return refuse(
      `the workers of pool '${pool}' run version ${found}, and this gateway ${version}; they may differ ` +
        "by one minor version. Upgrade the older ones",
    );
  }
  const ranked = fitting.map((worker) => ({
    worker,
    isSilent: isSilent(worker.id),
    isFull: freeSlots(worker) === 0,
    isWarm: repository !== undefined && worker.warm.includes(repository),
    load: worker.used / worker.slots,
    chance: random(),
  }));
  ranked.sort(
    (one, other) =>
      Number(one.isSilent) - Number(other.isSilent) ||
      Number(one.isFull) - Number(other.isFull) ||
      Number(other.isWarm) - Number(one.isWarm) ||
      one.load - other.load ||
      one.chance - other.chance,
  );
  return { workers: ranked.map(({ worker }) => worker) };
}

export function freeSlots({ slots, used }: Pick<Member, "slots" | "used">): number {
  return Math.max(0, slots - used);
}

export function hasLabels(
  worker: Pick<Member, "labels">,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(labels).every(([key, value]) => worker.labels[key] === value);
}

/** Nodes of the same major version work together if their minor versions are at most one apart. */
export function isCompatible(one: string, other: string): boolean {
  const [major, minor] = one.split(".").map(Number);
  const [otherMajor, otherMinor] = other.split(".").map(Number);
  return major === otherMajor && Math.abs((minor ?? 0) - (otherMinor ?? 0)) <= 1;
}

/** Such as "all 12 slots of 3 workers are taken". */
export function fullWords(workers: readonly Pick<Member, "slots">[]): string {
  const slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
  const of = workers.length === 1 ? "1 worker" : `${workers.length} workers`;
  return slots === 1 ? `the only slot of ${of} is taken` : `all ${slots} slots of ${of} are taken`;
}

function refuse(refusal: string): Placement {
  return { workers: [], refusal };
}

function anyWorker(exclude: readonly string[]): string {
  return exclude.length === 0 ? "worker" : "other worker";
}

function all(workers: readonly unknown[]): string {
  return workers.length === 1 ? "the only worker" : `all ${workers.length} workers`;
}

function drain(workers: readonly unknown[]): string {
  return workers.length === 1 ? "is draining" : "are draining";
}

function words(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return `${pairs.length === 1 ? "label" : "labels"} ${pairs.join(" and ")}`;
}
