import { statSync } from "node:fs";
import { join } from "node:path";

import { auditedNodes, copiesOf } from "./audit-copies.ts";
import { auditFiles, type AuditRecord, filesBackwards } from "./audit-reader.ts";

/** An entry of the audit of this machine, or of another machine of the fleet. */
export interface WholeRecord extends AuditRecord {
  /** The cursor from which reading continues with the entry before this one. */
  readonly cursor: string;
  /** The machine, if it is another one. */
  readonly node?: string;
}

interface Source {
  readonly node: string | undefined;
  readonly records: AsyncGenerator<AuditRecord>;
  next: AuditRecord | undefined;
  /** The place of the last entry that was given out. */
  last: string | undefined;
}

/** A place in each of several audits. */
export const CURSOR = /^\d{1,20}\.\d{1,15}(?:_\d{1,20}\.\d{1,15}){0,99}$/;

/**
 * Reads the audits of all machines from their ends, the newest entries first. The entries of one machine
 * stay in their order, whatever its clock says.
 */
export async function* wholeAuditBackwards(
  data: string,
  options: { before?: string; spent?: (bytes: number) => void } = {},
): AsyncGenerator<WholeRecord> {
  const sources = await openSources(data, options);
  try {
    for (;;) {
      const source = sources.reduce<Source | undefined>(newer, undefined);
      const record = source?.next;
      if (source === undefined || record === undefined) return;
      source.last = record.place;
      source.next = await nextOf(source.records);
      const cursor = sources.flatMap(({ last }) => last ?? []).join("_");
      const { node } = source;
      yield node === undefined
        ? { ...record, cursor }
        : { ...record, entry: { ...record.entry, node }, cursor, node };
    }
  } finally {
    for (const { records } of sources) await records.return(undefined);
  }
}

async function openSources(
  data: string,
  { before, spent = () => {} }: { before?: string; spent?: (bytes: number) => void },
): Promise<Source[]> {
  const places = new Map(before?.split("_").map((place) => [place.split(".")[0] ?? "", place]));
  const own = (await auditFiles(data)).map((name) => join(data, name));
  const all = [
    { node: undefined, paths: own },
    ...auditedNodes(data).map((node) => ({ node, paths: newestFirst(data, node) })),
  ];
  return Promise.all(
    all.map(async ({ node, paths }) => {
      const last = paths
        .map(inodeOf)
        .map((inode) => places.get(inode))
        .find(Boolean);
      const options = { ...(last === undefined ? {} : { before: last }), spent };
      const records = filesBackwards(paths, options);
      return { node, records, next: await nextOf(records), last };
    }),
  );
}

function newestFirst(data: string, node: string): string[] {
  return copiesOf(data, node)
    .map(({ path }) => path)
    .toReversed();
}

function inodeOf(path: string): string {
  return String(statSync(path, { throwIfNoEntry: false })?.ino ?? "");
}

async function nextOf(records: AsyncGenerator<AuditRecord>): Promise<AuditRecord | undefined> {
  const next = await records.next();
  return next.done === true ? undefined : next.value;
}

/** The one with the newer entry. */
function newer(one: Source | undefined, other: Source): Source | undefined {
  if (one?.next === undefined || other.next === undefined) return one?.next ? one : other;
  return String(other.next.entry.time) > String(one.next.entry.time) ? other : one;
}
