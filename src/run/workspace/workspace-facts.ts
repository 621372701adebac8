import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { replaceFile } from "../../store/replace-file.ts";
import type { WorkspaceDriver } from "./driver.ts";

/** What is stored about a workspace beside its files. */
export interface Facts {
  readonly base: string;
  readonly repository: string;
  readonly driver: WorkspaceDriver["name"];
  readonly layer?: string | undefined;
  /** The tree is not on disk: its files are in a commit of the git folder. */
  readonly isAway?: boolean;
  /** It was prepared in advance, and no session has it yet. */
  readonly isSpare?: boolean;
}

export const FACTS = "workspace.json";

export async function readFacts(folder: string): Promise<Facts | undefined> {
  const path = join(folder, FACTS);
  return existsSync(path) ? (JSON.parse(await readFile(path, "utf8")) as Facts) : undefined;
}

/** Milliseconds for which a workspace may be without facts while another process begins it. */
const BEGINS_WITHIN = 10 * 60_000;

/** Whether a workspace was left before it had begun: it has nothing that anybody worked on. */
export function isUnbegun(folder: string): boolean {
  const begun = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  return !existsSync(join(folder, FACTS)) && Date.now() - begun > BEGINS_WITHIN;
}

export async function writeFacts(folder: string, facts: Facts): Promise<void> {
  await replaceFile(join(folder, FACTS), JSON.stringify(facts));
}
