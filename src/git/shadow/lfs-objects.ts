import { createHash } from "node:crypto";
import { constants, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { Shadow } from "./shadow-folder.ts";

/** Files of Git LFS have the hash of their content as a name. */
const OBJECT = /^common\/(lfs\/objects\/[0-9a-f]{2}\/[0-9a-f]{2}\/([0-9a-f]{64}))$/;

/** Copies the files that a command has given to Git LFS, since commits have only their names. */
export async function takeLfsObjects(shadow: Shadow, changed: readonly string[]): Promise<void> {
  for (const path of changed) {
    const [, name, digest] = OBJECT.exec(path) ?? [];
    if (name === undefined || digest === undefined) continue;
    const target = join(shadow.repository.commonDir, name);
    if (existsSync(target)) continue;
    mkdirSync(dirname(target), { recursive: true });
    const copy = `${target}.trunkline-${crypto.randomUUID()}`;
    try {
      if ((await copyHashed(join(shadow.common, name), copy)) !== digest) {
        throw new TrunklineError("untrusted", `its LFS object '${digest}' has other content`);
      }
      renameSync(copy, target);
    } finally {
      rmSync(copy, { force: true });
    }
  }
}

/** No folder on the way is a link: what is not a file or a folder was refused before. */
async function copyHashed(from: string, to: string): Promise<string> {
  const hash = createHash("sha256");
  await using source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW);
  await using target = await open(to, "wx", 0o444);
  for await (const chunk of source.createReadStream({ autoClose: false })) {
    hash.update(chunk as Buffer);
    await target.writeFile(chunk as Buffer);
  }
  return hash.digest("hex");
}
