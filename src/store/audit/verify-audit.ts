import { createHash, type Hash } from "node:crypto";
import { createReadStream, existsSync, statSync } from "node:fs";
import { join, relative } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { auditedNodes, copiesOf } from "./audit-copies.ts";
import { auditFiles } from "./audit-reader.ts";
import { REPAIRED } from "./repair-audit.ts";
import { firstHash, SEAL, type Seal } from "./audit-seals.ts";

/** Something that does not fit the seals. */
export interface AuditProblem {
  /** The file and the line of the seal that does not match. */
  readonly where: string;
  readonly says: string;
}

export interface AuditRepair {
  readonly time: string;
  readonly file: string;
  readonly lines: number;
  /** The file that has them now. */
  readonly moved: string;
}

export interface AuditVerdict {
  /** Entries that a seal confirms. */
  readonly sealed: number;
  /** Entries after the last seal of their writer: it is running, or was killed within its last second. */
  readonly unsealed: number;
  /** Entries without the name of a writer, which an older version has written. */
  readonly older: number;
  /** Lines that are not JSON, which a full disk or a power failure leaves. */
  readonly damaged: number;
  /** Entries of other machines before the first seal that is here: earlier entries are missing here. */
  readonly cut: number;
  readonly writers: number;
  /** Repairs that the audit records: damaged lines that were moved to another file. */
  readonly repairs: readonly AuditRepair[];
  readonly problems: readonly AuditProblem[];
}

interface Writer {
  hash: Hash;
  /** Entries since its last seal, and all that its last seal counted. */
  open: number;
  counted: number;
  /** What it wrote before is not here, so that its next seal cannot be checked. */
  isCut?: boolean;
}

interface AuditFile {
  readonly path: string;
  /** As it is shown. */
  readonly name: string;
  /** The machine, if it is another one. */
  readonly node?: string;
  readonly isCut: boolean;
}

/**
 * Compares all entries with the seals of their writers, also the copies of other machines' audits. With an anchor, also finds what was removed
 * together with its seals.
 */
export async function verifyAudit(data: string, anchor?: string): Promise<AuditVerdict> {
  const writers = new Map<string, Writer>();
  const seals = new Set<string>();
  const problems: AuditProblem[] = [];
  const repairs: AuditRepair[] = [];
  const counts = { sealed: 0, older: 0, damaged: 0, cut: 0 };
  for (const { path, name, node, isCut } of await allFiles(data)) {
    const begun = new Set<string>();
    for await (const { line, number } of linesOf(path)) {
      const parsed = parse(line);
      if (parsed === undefined) {
        counts.damaged++;
        continue;
      }
      const { writer: id, seal } = parsed;
      if (typeof id !== "string") {
        counts.older++;
        continue;
      }
      const key = `${node ?? ""} ${id}`;
      const isNew = isCut && !begun.has(key);
      const writer = (isNew ? undefined : writers.get(key)) ?? { ...newWriter(id), isCut };
      begun.add(key);
      writers.set(key, writer);
      if (!line.startsWith(SEAL)) {
        if (parsed.event === REPAIRED) repairs.push(parsed as unknown as AuditRepair);
        writer.open++;
        writer.hash.update(`${line}\n`);
        continue;
      }
      seals.add(line);
      const count = writer.isCut === true ? "cut" : "sealed";
      const problem = isSeal(seal) ? compare(writer, seal) : "This seal was changed";
      if (problem === undefined) counts[count] += writer.open;
      else problems.push({ where: `${name}:${number}`, says: problem });
      writer.open = 0;
    }
  }
  const missing = anchor === undefined ? [] : await missingFrom(seals, anchor);
  const unsealed = writers.values().reduce((sum, { open: count }) => sum + count, 0);
  const all = problems.concat(missing);
  return { ...counts, unsealed, writers: writers.size, repairs, problems: all };
}

/** The oldest first. */
async function allFiles(data: string): Promise<AuditFile[]> {
  const own = (await auditFiles(data)).toReversed().map((name) => {
    return { path: join(data, name), name, isCut: false };
  });
  const copies = auditedNodes(data).flatMap((node) =>
    copiesOf(data, node).map(({ path, from }) => {
      return { path, name: relative(data, path), node, isCut: from > 0 };
    }),
  );
  return [...own, ...copies].filter(({ path }) => existsSync(path));
}

/** Checks a seal, and begins the next part of the chain after it. */
function compare(writer: Writer, { lines, hash }: Seal): string | undefined {
  const found = writer.hash.digest("hex");
  const expected = lines - writer.counted;
  writer.counted = lines;
  writer.hash = createHash("sha256").update(hash);
  const isCut = writer.isCut === true;
  writer.isCut = false;
  if (found === hash || isCut) return undefined;
  const missing = expected - writer.open;
  if (missing > 0) return `${entries(missing)} missing among the ${expected} before this seal`;
  if (missing < 0) return `${entries(-missing)} too many before this seal`;
  return `One or more of the ${expected} entries before this seal were changed`;
}

/** Whoever changes entries may have changed seals, too. */
function isSeal(seal: unknown): seal is Seal {
  const { lines, hash } = (seal ?? {}) as Partial<Seal>;
  return Number.isSafeInteger(lines) && typeof hash === "string";
}

function entries(count: number): string {
  return count === 1 ? "One entry is" : `${count} entries are`;
}

/** Seals that the anchor has and the audit has not. */
async function missingFrom(seals: ReadonlySet<string>, anchor: string): Promise<AuditProblem[]> {
  const problems: AuditProblem[] = [];
  const stats = statSync(anchor, { throwIfNoEntry: false });
  if (!stats?.isFile()) {
    const why = stats === undefined ? "there is no such file" : "it is not a file";
    throw new TrunklineError("not-found", `Cannot read the anchor '${anchor}': ${why}`);
  }
  for await (const { line, number } of linesOf(anchor)) {
    if (!line.startsWith(SEAL) || seals.has(line)) continue;
    const { time } = parse(line) ?? {};
    const says = `The audit has no such seal; entries until ${String(time)} were removed or changed`;
    problems.push({ where: `${anchor}:${number}`, says });
  }
  return problems;
}

function newWriter(id: string): Writer {
  return { hash: createHash("sha256").update(firstHash(id)), open: 0, counted: 0 };
}

/** The lines of a file, as it is written: only a line feed ends one. */
async function* linesOf(path: string): AsyncGenerator<{ line: string; number: number }> {
  let number = 0;
  /** Put together once, when the line ends: it may be as long as the file. */
  const begun: string[] = [];
  for await (const chunk of createReadStream(path, { encoding: "utf8" })) {
    const [first = "", ...others] = String(chunk).split("\n");
    begun.push(first);
    for (const next of others) {
      const line = begun.splice(0).join("");
      number++;
      if (line !== "") yield { line, number };
      begun.push(next);
    }
  }
  const line = begun.join("");
  if (line !== "") yield { line, number: number + 1 };
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
