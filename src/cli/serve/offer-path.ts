import { accessSync, constants, existsSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { fileWords } from "../../base/errors.ts";
import { launcher, pathFolders, typedCommand } from "../../base/process/self-command.ts";
import { shellWord } from "../../base/text/shell-word.ts";
import { confirm } from "../shell/ask.ts";
import type { Invocation } from "../shell/command.ts";
import { isAttended } from "../shell/open-page.ts";

/** The link to `to` that is missing, and whether its folder is in PATH now; undefined where `trunkline` is found, or where nothing can be linked to. */
export function missingLink(env: NodeJS.ProcessEnv, to: string | undefined = launcher()) {
  const { HOME: home = "" } = env;
  if (to === undefined || home === "" || typedCommand(env) === "trunkline") return undefined;
  const usual = join(home, ".local/bin");
  const inPath = pathFolders(env);
  const fits = (folder: string): boolean =>
    inPath.includes(folder) && (folder.startsWith(home) || mayWrite(folder));
  const folder = [usual, join(home, "bin"), "/usr/local/bin"].find(fits) ?? usual;
  return { folder, file: join(folder, "trunkline"), to, isInPath: inPath.includes(folder) };
}

/**
 * Offers to make `trunkline` a command of the shell: asks once at a terminal, while the program does other
 * work, and elsewhere says the line that does it.
 */
export async function offerPath(
  { env, out, isTerminal }: Pick<Invocation, "env" | "out" | "isTerminal">,
  { data, signal }: { readonly data: string; readonly signal: AbortSignal },
  link = missingLink(env),
): Promise<void> {
  if (link === undefined) return;
  const { folder, file, to, isInPath } = link;
  const toPath = `export PATH=${shellWord(folder)}:"$PATH"`;
  const answered = join(data, "path-offered");
  if (existsSync(answered)) return;
  if (!isAttended({ env, isTerminal }) || !process.stdin.isTTY) {
    const words = [`mkdir -p ${shellWord(folder)}`, `ln -sf ${shellWord(to)} ${shellWord(file)}`];
    const line = [...words, ...(isInPath ? [] : [toPath])].join(" && ");
    out(`To type \`trunkline\` instead of its path:\n  ${line}\n`);
    return;
  }
  const says = `\nType \`trunkline\` instead of its path? This links ${file} to it.`;
  const isWanted = await confirm(says, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (isWanted === undefined) return;
  await writeFile(answered, "");
  if (!isWanted) return;
  try {
    await mkdir(folder, { recursive: true });
    // A link of a checkout that is gone.
    if (!existsSync(file)) await rm(file, { force: true });
    await symlink(to, file);
  } catch (error) {
    out(`Cannot make ${file}: ${fileWords(error, file)}.\n`);
    return;
  }
  if (isInPath) out("Done: try `trunkline help` in another terminal.\n");
  else
    out(
      `Done. Your shell finds it after this line, which belongs into its profile:\n  ${toPath}\n`,
    );
}

function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
