import { open, readdir } from "node:fs/promises";
import { join } from "node:path";

export const AUDIT_FOLDER = "audit";
export const AUDIT_FILE = `${AUDIT_FOLDER}/audit.ndjson`;
const SET_ASIDE = /^audit-\d{8}T\d{9}Z-\d+\.ndjson$/;

/**
 * All audit entries: of the rotated files, then of the current one, without the names of their writers.
 * Seals are skipped, and incomplete lines, which a full disk or a power failure leaves.
 */
export async function* readAudit(data: string): AsyncGenerator<Readonly<Record<string, unknown>>> {
  for (const name of await filesIn(data)) {
    await using file = await openFile(join(data, name));
    if (file === undefined) continue;
    for await (const line of file.readLines()) {
      const entry = entryOf(line);
      if (entry !== undefined) yield entry;
    }
  }
}

async function filesIn(data: string): Promise<string[]> {
  const names = (await readdir(join(data, AUDIT_FOLDER)).catch(missing)) ?? [];
  const before = names.filter((name) => SET_ASIDE.test(name)).toSorted();
  return [...before.map((name) => join(AUDIT_FOLDER, name)), AUDIT_FILE];
}

/** The file may be rotated between listing and opening. */
function openFile(path: string) {
  return open(path).catch(missing);
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}

function entryOf(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== "object" || entry === null || "seal" in entry) return undefined;
    const { writer: _, ...rest } = entry as Readonly<Record<string, unknown>>;
    return rest;
  } catch {
    return undefined;
  }
}
