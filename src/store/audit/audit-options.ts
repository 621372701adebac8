import { writeSync } from "node:fs";

export interface AuditLogOptions {
  /** Where it is told that entries cannot be written. */
  readonly report?: (event: string, fields: Record<string, unknown>) => void;
  /** Bytes after which a file is set aside. */
  readonly maxFile?: number;
  /** Characters that may wait for a disk that takes nothing. */
  readonly maxWaiting?: number;
  /** Characters of one line; a longer one leaves its arguments out. */
  readonly maxLine?: number;
  /** Milliseconds between two looks whether somebody else has set the file aside. */
  readonly checkEvery?: number;
  /** Milliseconds until a disk that failed is tried again. */
  readonly retryAfter?: number;
  /** Appends bytes to the file, and says how many; a test may have a worse disk. */
  readonly write?: (descriptor: number, bytes: Buffer) => number;
}

export type ResolvedOptions = Required<AuditLogOptions>;

const MiB = 1024 * 1024;

export function resolveOptions(options: AuditLogOptions): ResolvedOptions {
  return {
    report: () => {},
    maxFile: 64 * MiB,
    maxWaiting: 16 * MiB,
    maxLine: 64 * 1024,
    checkEvery: 1_000,
    retryAfter: 1_000,
    write: (descriptor, bytes) => writeSync(descriptor, bytes),
    ...options,
  };
}
