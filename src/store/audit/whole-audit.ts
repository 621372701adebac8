import { appendFileSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import {
  auditFiles,
  type AuditRecord,
  filesBackwards,
  type ReadingOptions,
} from "./audit-reader.ts";
import { makeFolder } from "../../base/file/path.ts";

/** An entry of the audit of this machine, or of another machine of the fleet. */
export interface WholeRecord extends AuditRecord {
  /** The cursor from which reading continues with the entry before this one. */
  readonly cursor: string;
  /** The machine, if it is another one. */
  readonly node?: string;
}

/** The entries of one machine, with its next one, and the place of the last that was given out. */
type Source = Awaited<ReturnType<typeof openSources>>[number];

/** A place in each of several audits. */
export const CURSOR = /^\d{1,20}\.\d{1,15}(?:_\d{1,20}\.\d{1,15}){0,99}$/;

/**
 * Reads the audits of all machines from their ends, the newest entries first. The entries of one machine
 * stay in their order, whatever its clock says.
 */
export async function* wholeAuditBackwards(
  data: string,
  options: ReadingOptions = {},
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

async function openSources(data: string, { before, spent = () => {} }: ReadingOptions) {
  const places = new Map(before?.split("_").map((place) => [place.split(".")[0] ?? "", place]));
  const own = (await auditFiles(data)).map((name) => join(data, name));
  const all = [
    { node: undefined, paths: own },
    ...auditedNodes(data).map((node) => {
      return {
        node,
        paths: copiesOf(data, node)
          .map(({ path }) => path)
          .toReversed(),
      };
    }),
  ];
  return Promise.all(
    all.map(async ({ node, paths }) => {
      const last = paths
        .map((path) => String(statSync(path, { throwIfNoEntry: false })?.ino ?? ""))
        .map((inode) => places.get(inode))
        .find(Boolean);
      const records = filesBackwards(paths, { before: last, spent });
      return { node, records, next: await nextOf(records), last };
    }),
  );
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

/** Folder in the data folder: the audits of other machines, in a folder for each. */
const COPIES = "audit-copies";
/** The name of a file as its machine gave it, and the place in it where the copy begins. */
const COPY = /^(\d{8}T\d{9}Z-[0-9a-f]{8})\.(\d{1,15})\.ndjson$/;
const NODE = /^[\w-]{1,64}$/;
const AUDIT_FILE_ID = /^\d{8}T\d{9}Z-[0-9a-f]{8}$/;

/** The machines whose audits are here. */
export function auditedNodes(data: string): string[] {
  return namesIn(join(data, COPIES)).filter((name) => NODE.test(name));
}

/**
 * The copies of files of another machine's audit, or of the ends of some, the oldest first. `file` is its name
 * there, the time of its creation, and `from` the bytes of it that are missing here, before the copy.
 */
export function copiesOf(data: string, node: string) {
  const folder = join(data, COPIES, node);
  return namesIn(folder)
    .flatMap((name) => {
      const [, file, from] = COPY.exec(name) ?? [];
      return file === undefined ? [] : [{ path: join(folder, name), file, from: Number(from) }];
    })
    .toSorted((one, other) =>
      one.file === other.file ? one.from - other.from : one.file < other.file ? -1 : 1,
    );
}

/**
 * Adds lines of another machine's audit, which begin at a place in one of its files. Lines that are
 * here already are not added again, so the same lines may come several times.
 */
export function addToCopy(
  data: string,
  node: string,
  { file, from, lines }: { readonly file: string; readonly from: number; readonly lines: Buffer },
): void {
  if (!NODE.test(node) || !AUDIT_FILE_ID.test(file)) return;
  const known = copiesOf(data, node).filter((copy) => copy.file === file);
  // Where lines are missing, another copy begins.
  const copy = known.findLast((each) => each.from <= from && endOf(each) >= from);
  if (copy === undefined && known.some((each) => endOf(each) > from)) return;
  const folder = join(data, COPIES, node);
  makeFolder(folder, 0o700);
  const path = copy?.path ?? join(folder, `${file}.${from}.ndjson`);
  const end = copy === undefined ? from : endOf(copy);
  appendFileSync(path, lines.subarray(end - from), { mode: 0o600 });
}

/** The place in the file of its machine up to which it is here. */
function endOf({ path, from }: { readonly path: string; readonly from: number }): number {
  return from + statSync(path).size;
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
