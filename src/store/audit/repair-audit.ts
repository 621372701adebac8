import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

import { AuditLog } from "./audit-log.ts";
import { auditFiles } from "./audit-reader.ts";
import { objectIn } from "../../base/check.ts";

/** The event of the entry that records a repair. */
export const REPAIRED = "audit-repaired";

const NEWLINE = 0x0a;
/** An entry is never longer. */
const LONGEST = 64 * 1024;

interface Line {
  readonly from: number;
  readonly to: number;
}

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
    const moved = damaged.flatMap(({ from, to }) => [bytes.subarray(from, to), "\n"]);
    write(path + ending, "a", (file) => moved.forEach((piece) => writeSync(file, piece as Buffer)));
    write(path, "r+", (file) => {
      for (const { from, to } of damaged) {
        writeSync(file, Buffer.alloc(to - from, NEWLINE), 0, to - from, from);
      }
    });
    using log = new AuditLog(data);
    const time = new Date().toISOString();
    log.record({ time, event: REPAIRED, file: name, lines: damaged.length, moved: name + ending });
  }
}

function write(path: string, flags: string, work: (file: number) => void): void {
  const file = openSync(path, flags, 0o600);
  try {
    work(file);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function damagedLines(bytes: Buffer): Line[] {
  const damaged: Line[] = [];
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
