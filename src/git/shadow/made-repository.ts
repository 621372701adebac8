import { lstatSync, mkdirSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { Git } from "../git.ts";
import { copyTree, textIn } from "./git-files.ts";
import { repositoryAt } from "./known-repositories.ts";
import { newIncoming } from "./receive-objects.ts";
import { type Shadow, writeBase } from "./shadow-folder.ts";

/**
 * Moves away the git folder of a repository that a command has made, and makes an empty one in its place,
 * with our settings only. The moved one is the shadow from which it is filled.
 */
export async function moveMade(top: string, work: string): Promise<Shadow> {
  const path = join(top, ".git");
  const aside = join(top, `.git-made-${crypto.randomUUID().slice(0, 8)}`);
  const common = join(work, "common");
  renameSync(path, aside);
  if (!lstatSync(aside).isDirectory()) {
    const says = `its .git is not a folder. It is now '${aside}'`;
    throw new TrunklineError("untrusted", says);
  }
  try {
    renameSync(aside, common);
  } catch {
    // It is on another file system.
    mkdirSync(common, { recursive: true });
    copyTree(aside, common);
    await rm(aside, { recursive: true, force: true });
  }
  await new Git(top).run(["init", "--quiet", "--template=", "--object-format=sha1", "."], {
    mode: "files",
  });
  const repository = repositoryAt(top);
  if (repository === undefined) throw new TrunklineError("unavailable", "git made no repository");
  const refs = { ids: new Map(), symbolic: new Map() };
  const head = textIn(path, "HEAD")?.trim() ?? "";
  const none = { stash: "", files: {}, logSize: 0, operations: [] };
  const empty = { ...none, refs, head, incoming: newIncoming() };
  writeBase(work, repository, empty);
  return {
    repository,
    work,
    common,
    own: common,
    base: empty,
    before: new Map(),
    isAdopted: false,
  };
}
