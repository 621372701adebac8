import {
  access,
  chmod,
  constants,
  lstat,
  readdir,
  rm,
  stat,
  statfs,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";

import { fileWords } from "../../../base/errors.ts";
import { LONGEST_DATABASE_PATH } from "../../../store/sqlite-words.ts";
import { shellQuote } from "../../../base/text/shell-word.ts";
import { byCommand, byFix, type Finding, type Fix } from "../finding.ts";

const what = "Data folder";
const ELSEWHERE = "Choose another folder with --data or TRUNKLINE_DATA.";
/** The names of files in it take the rest. */
const LONGEST_FOLDER = LONGEST_DATABASE_PATH - 64;

/** Bytes of free space below which sessions may soon fail. */
const SCARCE = 100 * 1024 * 1024;
/** Folders whose files may belong to the users that remote runs work as. */
const FOREIGN = new Set(["run", "sandbox", "workspace"]);

/** Whether the data folder can be used, and only by its owner. */
export async function checkDataFolder(folder: string): Promise<Finding[]> {
  const length = Buffer.byteLength(folder);
  if (length > LONGEST_FOLDER) {
    const says = `its path has ${length} bytes, and databases need one of at most ${LONGEST_FOLDER}`;
    return [fail(says)];
  }
  let found: Awaited<ReturnType<typeof stat>>;
  try {
    found = await stat(folder);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return [code === "ENOENT" ? await checkParent(folder) : fail(message)];
  }
  if (!found.isDirectory()) {
    return [
      fail(`${folder} is not a folder`, {
        next: "Move the file away, or choose another folder with --data.",
      }),
    ];
  }
  const problem = (await tryToRead(folder)) ?? (await tryToWrite(folder));
  if (problem !== undefined) return [unusable(folder, found.uid, problem)];
  return [
    await foreignFiles(folder),
    process.platform === "win32" || (found.mode & 0o077) === 0
      ? ({ state: "ok", what, says: folder } as const)
      : exposed(folder, found.mode),
    await scarce(folder),
  ].filter((each) => each !== undefined);
}

/** Who has to do what so that the folder can be used. */
function unusable(folder: string, owner: number, problem: string): Finding {
  const says = `cannot use ${folder}: ${problem}`;
  const own = process.getuid?.();
  if (own !== undefined && owner !== own) {
    const command = takeOver(folder, own);
    const next = `It belongs to another user. ${ELSEWHERE} Or make it yours: ${command}`;
    return fail(says, { next, command });
  }
  if (/ENOSPC|EDQUOT/.test(problem)) {
    return fail(says, { next: `Free some space on its disk, or: ${ELSEWHERE}` });
  }
  if (!/EACCES|EPERM/.test(problem)) return fail(says, { next: ELSEWHERE });
  return fail(says, byFix(makePrivate(folder)));
}

function exposed(folder: string, mode: number): Finding {
  const remedy = byCommand(`chmod 700 ${shellQuote(folder)}`);
  const fix = makePrivate(folder);
  if ((mode & 0o022) !== 0) return fail(folder + CHANGEABLE, { ...remedy, fix });
  return {
    state: "warn",
    what,
    says: `${folder} can be read by others on this machine`,
    ...remedy,
    fix,
  };
}

const CHANGEABLE = " can be changed by others on this machine: they can act as you";

/** Whether the folder works, though others may be able to change it. */
export function canBeUsed(findings: readonly Finding[]): boolean {
  return findings.every(({ state, says }) => state !== "fail" || says.endsWith(CHANGEABLE));
}

function makePrivate(folder: string): Fix {
  return {
    does: `Make ${folder} accessible to you, and to nobody else`,
    apply: () => chmod(folder, 0o700),
  };
}

function takeOver(folder: string, user: number): string {
  return `sudo chown -R ${user} ${shellQuote(folder)}`;
}

/** Files of another user, such as after Trunkline ran once with sudo. Root can use them anyway. */
async function foreignFiles(folder: string): Promise<Finding | undefined> {
  const own = process.getuid?.();
  if (own === undefined || own === 0) return undefined;
  const names = (await readdir(folder)).filter((name) => !FOREIGN.has(name));
  const owners = await Promise.all(
    names.map((name) =>
      lstat(join(folder, name)).then(
        ({ uid }) => uid,
        () => own,
      ),
    ),
  );
  const foreign = names.filter((_, index) => owners[index] !== own);
  if (foreign.length === 0) return undefined;
  const says = `${foreign.length} files in ${folder} belong to another user, such as ${foreign[0]}; perhaps Trunkline ran once with sudo`;
  return fail(says, byCommand(takeOver(folder, own)));
}

async function scarce(folder: string): Promise<Finding | undefined> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= SCARCE) return undefined;
  const free = Math.floor((bavail * bsize) / 1024 / 1024);
  const says = `its disk has only ${free} MB left`;
  const next = `Free some space, or move the folder to another disk and set \`data\`. What is large: du -h -d 1 ${shellQuote(folder)}`;
  return { state: "warn", what, says, next };
}

async function checkParent(folder: string): Promise<Finding> {
  let parent = dirname(folder);
  for (;;) {
    try {
      await access(parent, constants.W_OK | constants.X_OK);
      return { state: "ok", what, says: `${folder} will be created when it is needed` };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" || parent === dirname(parent)) {
        return fail(`cannot create ${folder}: ${fileWords(error, folder)}`);
      }
      parent = dirname(parent);
    }
  }
}

async function tryToRead(folder: string): Promise<string | undefined> {
  try {
    await readdir(folder);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

async function tryToWrite(folder: string): Promise<string | undefined> {
  const path = join(folder, `.doctor-${process.pid}`);
  try {
    // Not an empty file: that can be created on a full disk, too.
    await writeFile(path, Buffer.alloc(4096), { flag: "wx", mode: 0o600 });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(path, { force: true }).catch(() => {});
  }
}

function fail(
  says: string,
  remedy: Pick<Finding, "next" | "command" | "fix"> = { next: ELSEWHERE },
): Finding {
  return { state: "fail", what, says, ...remedy };
}
