import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

import { makeFolder } from "../../base/file/path.ts";

/** Folder in the data folder: the audits of other machines, in a folder for each. */
const COPIES = "audit-copies";
/** The name of a file as its machine gave it, and the place in it where the copy begins. */
const COPY = /^(\d{8}T\d{9}Z-[0-9a-f]{8})\.(\d{1,15})\.ndjson$/;
const NODE = /^[\w-]{1,64}$/;
export const AUDIT_FILE_ID = /^\d{8}T\d{9}Z-[0-9a-f]{8}$/;

/** A copy of a file of another machine's audit, or of the end of one. */
export interface AuditCopy {
  readonly path: string;
  /** The name of the file, which is the time of its creation. */
  readonly file: string;
  /** Bytes of the file that are missing here, before the copy. */
  readonly from: number;
}

/** The machines whose audits are here. */
export function auditedNodes(data: string): string[] {
  return namesIn(join(data, COPIES)).filter((name) => NODE.test(name));
}

/** The copies of a machine's audit, the oldest first. */
export function copiesOf(data: string, node: string): AuditCopy[] {
  const folder = join(data, COPIES, node);
  return namesIn(folder)
    .flatMap((name) => {
      const [, file, from] = COPY.exec(name) ?? [];
      if (file === undefined) return [];
      return [{ path: join(folder, name), file, from: Number(from) }];
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
  const isOld = copy === undefined && known.some((each) => endOf(each) > from);
  if (isOld) return;
  const folder = join(data, COPIES, node);
  makeFolder(folder, 0o700);
  const path = copy?.path ?? join(folder, `${file}.${from}.ndjson`);
  const descriptor = openSync(path, "a", 0o600);
  try {
    const end = (copy?.from ?? from) + fstatSync(descriptor).size;
    let rest = lines.subarray(end - from);
    while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
  } finally {
    closeSync(descriptor);
  }
}

/** The place in the file of its machine up to which it is here. */
function endOf({ path, from }: AuditCopy): number {
  return from + statSync(path).size;
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
