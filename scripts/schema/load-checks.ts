import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import type { Check } from "../../src/base/check.ts";
import { compile } from "./compile.ts";

const BASE = join(import.meta.dirname, "../../src/base");

/** Compiles schemas and loads the emitted code, for tests. Keys are schema names. */
export async function loadChecks(schemas: unknown): Promise<Readonly<Record<string, Check>>> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-schema-"));
  const file = join(folder.path, "schema.gen.ts");
  await writeFile(file, compile(schemas, BASE));
  const module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, Check>>;
  const checks = Object.entries(module).map(([name, check]) => [name.replace(/^check/, ""), check]);
  return Object.fromEntries(checks);
}
