import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { replaceFile } from "../../store/replace-file.ts";

const FILE = "node-id";
const FORM = /^[0-9a-f-]{36}$/;

/** The id of the node whose data folder this is. It is made once, and stays the same after restarts. */
export async function nodeIdOf(data: string): Promise<string> {
  const path = join(data, FILE);
  const known = existsSync(path) ? readFileSync(path, "utf8").trim() : "";
  if (FORM.test(known)) return known;
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const id = randomUUID();
  await replaceFile(path, `${id}\n`);
  return id;
}
