import { createHash, type Hash } from "node:crypto";
import {
  closeSync,
  createReadStream,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join, relative } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { auditedNodes, copiesOf } from "./whole-audit.ts";
import { auditFiles } from "./audit-reader.ts";
import { AuditLog, firstHash, macOf, readKey, SEAL, type Seal } from "./audit-log.ts";
import { objectIn } from "../../base/check.ts";

/** A place where entries and seals do not match. */
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
  /** Entries after the last seal of their writer. */
  readonly unsealed: number;
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
  /** Its earlier entries are not here, so its next seal cannot be checked. */
  isCut?: boolean;
  /** Its last entry, if it is of this machine. */
  last?: string | undefined;
}

/**
 * Compares all entries with the seals of their writers, including the copies of other machines' audits.
 * With an anchor, it also detects entries that were removed together with their seals.
 */
export async function verifyAudit(data: string, anchor?: string): Promise<AuditVerdict> {
  const writers = new Map<string, Writer>();
  const seals = new Set<string>();
  const problems: AuditProblem[] = [];
  const repairs: AuditRepair[] = [];
  const counts = { sealed: 0, damaged: 0, cut: 0 };
  const key = readKey(data);
  for (const { path, name, node, isCut } of await allFiles(data)) {
    const begun = new Set<string>();
    for await (const { line, number } of linesOf(path)) {
      const parsed = objectIn(line);
      if (parsed === undefined) {
        counts.damaged++;
        continue;
      }
      const where = `${name}:${number}`;
      const { writer: id, seal } = parsed;
      if (typeof id !== "string") {
        problems.push({ where, says: "This entry was added" });
        continue;
      }
      const known = `${node ?? ""} ${id}`;
      const isNew = isCut && !begun.has(known);
      const writer = (isNew ? undefined : writers.get(known)) ?? newWriter(id, isCut);
      begun.add(known);
      writers.set(known, writer);
      if (!line.startsWith(SEAL)) {
        if (parsed.event === REPAIRED) repairs.push(parsed as unknown as AuditRepair);
        writer.open++;
        writer.hash.update(`${line}\n`);
        if (node === undefined) writer.last = where;
        continue;
      }
      seals.add(line);
      const count = writer.isCut === true ? "cut" : "sealed";
      const problem = isSeal(seal) ? compare(writer, seal) : "This seal was changed";
      const forged = node === undefined && isSeal(seal) && isForged(seal, id, key);
      if (problem === undefined && !forged) counts[count] += writer.open;
      else problems.push({ where, says: problem ?? "This seal was added" });
      writer.open = 0;
    }
  }
  let unsealed = 0;
  for (const { last: where, open } of writers.values()) {
    unsealed += open;
    if (open === 0 || where === undefined) continue;
    problems.push({ where, says: `${entries(open)} without a seal here: ${UNSEALED}` });
  }
  if (anchor !== undefined) problems.push(...(await missingFrom(seals, anchor)));
  return { ...counts, unsealed, writers: writers.size, repairs, problems };
}

const UNSEALED = "added, or written while the key of the seals could not be read";

/** Whether a seal is not from a process of this data folder. */
function isForged({ mac, hash }: Seal, writer: string, key: string | undefined): boolean {
  return key === undefined || mac !== macOf(key, writer, hash);
}

/** The oldest first, with the names that are shown, and the machine of each if it is another one. */
async function allFiles(data: string) {
  const own = (await auditFiles(data)).toReversed().map((name) => {
    return { path: join(data, name), name, node: undefined, isCut: false };
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

/** A seal may have been tampered with, so its shape is checked. */
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
    const { time } = objectIn(line) ?? {};
    const says = `The audit has no such seal; entries until ${String(time)} were removed or changed`;
    problems.push({ where: `${anchor}:${number}`, says });
  }
  return problems;
}

function newWriter(id: string, isCut: boolean): Writer {
  return { hash: createHash("sha256").update(firstHash(id)), open: 0, counted: 0, isCut };
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

/** The event of the entry that records a repair. */
const REPAIRED = "audit-repaired";

const NEWLINE = 0x0a;
/** An entry is never longer. */
const LONGEST = 64 * 1024;

/**
 * Moves the lines that are not JSON to a file of the same name with this ending. Empty lines take their
 * place, so that every entry and its seal stay where they are. The audit records it.
 */
export async function repairAudit(data: string, ending: string): Promise<void> {
  for (const name of await auditFiles(data)) {
    const path = join(data, name);
    if (!existsSync(path)) continue;
    const bytes = readFileSync(path);
    const damaged = damagedLines(bytes);
    if (damaged.length === 0) continue;
    const moved = damaged.map(({ from, to }) => `${bytes.toString("latin1", from, to)}\n`).join("");
    const options = { encoding: "latin1", flag: "a", mode: 0o600, flush: true } as const;
    writeFileSync(path + ending, moved, options);
    blank(path, damaged);
    using log = new AuditLog(data);
    const time = new Date().toISOString();
    log.record({ time, event: REPAIRED, file: name, lines: damaged.length, moved: name + ending });
  }
}

function blank(path: string, lines: ReturnType<typeof damagedLines>): void {
  const file = openSync(path, "r+");
  try {
    for (const { from, to } of lines)
      writeSync(file, Buffer.alloc(to - from, NEWLINE), 0, to - from, from);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function damagedLines(bytes: Buffer): readonly { readonly from: number; readonly to: number }[] {
  const damaged: { from: number; to: number }[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, from);
    const to = end < 0 ? bytes.length : end;
    // The last line may be incomplete: a process is writing it, and the next entry begins a new line.
    const isBegun = end < 0 && to - from <= LONGEST && bytes[from] === 0x7b;
    if (to > from && !isBegun && objectIn(bytes.toString("utf8", from, to)) === undefined) {
      damaged.push({ from, to });
    }
    from = to + 1;
  }
  return damaged;
}
