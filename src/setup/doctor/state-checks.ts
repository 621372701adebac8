import { accessSync, constants, existsSync, statSync } from "node:fs";
import {
  access,
  chmod,
  lstat,
  open,
  readdir,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { Log } from "../../base/log.ts";
import { shellQuote } from "../../base/text/shell-word.ts";
import { counted } from "../../base/text/counted.ts";
import { SHARED_FILE, SHARED_MIGRATIONS } from "../../fleet/replication/shared-base.ts";
import type { Config } from "../../config/config.ts";
import { TrustStore } from "../../config/trust/trust.ts";
import { SessionWorktrees } from "../../session/open/session-worktrees.ts";
import { Journal } from "../../identity/switch/journal.ts";
import { journalPath } from "../../identity/switch/repair.ts";
import { EncryptedFile } from "../../identity/tokens/encrypted-file.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { Devices } from "../../store/access/devices.ts";
import { runningGateways } from "../../store/access/running-gateways.ts";
import { ApprovalsFile } from "../../store/approval/approvals-file.ts";
import { AUDIT_FILE } from "../../store/audit/audit-names.ts";
import { repairAudit } from "../../store/audit/verify-audit.ts";
import { checkDatabases } from "../../store/check-databases.ts";
import { Holder, HOLDERS } from "../../store/holder.ts";
import { NOTIFICATIONS_FILE, NOTIFY_MIGRATIONS } from "../../store/notify/notify-store.ts";
import { REVIEW_MIGRATIONS } from "../../store/review/reviews-schema.ts";
import { SESSION_MIGRATIONS, SessionLog } from "../../store/session/session-log.ts";
import { LONGEST_DATABASE_PATH } from "../../store/sqlite-words.ts";
import { approvalsPath, REVIEWS_FILE } from "../../store/store-files.ts";
import { TASK_MIGRATIONS } from "../../store/task-records.ts";
import {
  type CheckLimits,
  byCommand,
  byFix,
  type CheckResult,
  fail,
  type Fix,
  FIX_COMMAND,
  ok,
  warn,
} from "./check.ts";
import { objectIn } from "../../base/check.ts";

const ELSEWHERE = "Choose another folder with --data or TRUNKLINE_DATA.";
/** Leaves room for the names of files in the folder. */
const LONGEST_FOLDER = LONGEST_DATABASE_PATH - 64;

/** Bytes of free space below which sessions may soon fail. */
const SCARCE = 100 * 1024 * 1024;
/** Folders whose files may belong to the users that remote runs work as. */
const FOREIGN = new Set(["run", "sandbox", "workspace"]);

/** Whether the data folder can be used, and only by its owner. */
export async function checkDataFolder(folder: string): Promise<CheckResult[]> {
  const length = Buffer.byteLength(folder);
  if (length > LONGEST_FOLDER) {
    const says = `its path has ${length} bytes, and databases need one of at most ${LONGEST_FOLDER}`;
    return [fail(says, ELSEWHERE)];
  }
  let found: Awaited<ReturnType<typeof stat>>;
  try {
    found = await stat(folder);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return [code === "ENOENT" ? await checkParent(folder) : fail(message, ELSEWHERE)];
  }
  if (!found.isDirectory()) {
    return [
      fail(
        `${folder} is not a folder`,
        "Move the file away, or choose another folder with --data.",
      ),
    ];
  }
  const problem = (await problemOf(readdir(folder))) ?? (await tryToWrite(folder));
  if (problem !== undefined) return [unusable(folder, found.uid, problem)];
  return [
    await foreignFiles(folder),
    process.platform === "win32" || (found.mode & 0o077) === 0
      ? ok(folder)
      : exposed(folder, found.mode),
    await scarce(folder),
  ].filter((each) => each !== undefined);
}

/** A folder that cannot be used, and what to do about it. */
function unusable(folder: string, owner: number, problem: string): CheckResult {
  const says = `cannot use ${folder}: ${problem}`;
  const own = process.getuid?.();
  if (own !== undefined && owner !== own) {
    const command = takeOver(folder, own);
    const next = `It belongs to another user. ${ELSEWHERE} Or make it yours: ${command}`;
    return fail(says, { next, command });
  }
  if (/ENOSPC|EDQUOT/.test(problem)) {
    return fail(says, `Free some space on its disk, or: ${ELSEWHERE}`);
  }
  if (!/EACCES|EPERM/.test(problem)) return fail(says, ELSEWHERE);
  return fail(says, byFix(makePrivate(folder, 0o700)));
}

function exposed(folder: string, mode: number): CheckResult {
  const remedy = byCommand(`chmod 700 ${shellQuote(folder)}`);
  const fix = makePrivate(folder, 0o700);
  if ((mode & 0o022) !== 0) return fail(folder + CHANGEABLE, { ...remedy, fix });
  return warn(`${folder} can be read by others on this machine`, { ...remedy, fix });
}

const CHANGEABLE = " can be changed by others on this machine: they can act as you";

/** Whether the folder works, though others may be able to change it. */
export function canBeUsed(findings: readonly CheckResult[]): boolean {
  return findings.every(({ state, says }) => state !== "fail" || says.endsWith(CHANGEABLE));
}

function makePrivate(path: string, mode: number): Fix {
  const does = `Make ${path} accessible to you, and to nobody else`;
  return { does, apply: () => chmod(path, mode) };
}

function takeOver(folder: string, user: number): string {
  return `sudo chown -R ${user} ${shellQuote(folder)}`;
}

/** Files of another user, such as after Trunkline ran once with sudo. Root can use them anyway. */
async function foreignFiles(folder: string): Promise<CheckResult | undefined> {
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
  const says = `${counted(foreign.length, "file")} in ${folder} of another user, such as ${foreign[0]}; perhaps Trunkline ran once with sudo`;
  return fail(says, byCommand(takeOver(folder, own)));
}

async function scarce(folder: string): Promise<CheckResult | undefined> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= SCARCE) return undefined;
  const free = Math.floor((bavail * bsize) / 1024 / 1024);
  const says = `its disk has only ${free} MB left`;
  const next = `Free some space, or move the folder to another disk and set \`data\`. What is large: du -h -d 1 ${shellQuote(folder)}`;
  return warn(says, next);
}

async function checkParent(folder: string): Promise<CheckResult> {
  let parent = dirname(folder);
  for (;;) {
    try {
      await access(parent, constants.W_OK | constants.X_OK);
      return ok(`${folder} will be created when it is needed`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === dirname(parent)) {
        return fail(`cannot create ${folder}: ${fileWords(error, folder)}`, ELSEWHERE);
      }
      parent = dirname(parent);
    }
  }
}

async function problemOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: Error) => error.message,
  );
}

async function tryToWrite(folder: string): Promise<string | undefined> {
  const path = join(folder, `.doctor-${process.pid}`);
  try {
    // Not an empty file: that can be created on a full disk, too.
    return await problemOf(writeFile(path, Buffer.alloc(4096), { flag: "wx", mode: 0o600 }));
  } finally {
    await rm(path, { force: true }).catch(() => {});
  }
}

/** With the version of the schema that this Trunkline has. */
const DATABASES = [
  { file: "sessions.sqlite", holds: "sessions", version: SESSION_MIGRATIONS.length },
  { file: REVIEWS_FILE, holds: "review threads", version: REVIEW_MIGRATIONS.length },
  { file: NOTIFICATIONS_FILE, holds: "notifications", version: NOTIFY_MIGRATIONS.length },
  { file: "tasks.sqlite", holds: "tasks", version: TASK_MIGRATIONS.length },
  { file: SHARED_FILE, holds: "what is shared in a fleet", version: SHARED_MIGRATIONS.length },
];

interface KnownFile {
  readonly path: string;
  /** What becomes of it when a new file is begun. */
  readonly afterwards: string;
  /** Throws if it cannot be used. */
  readonly check: () => unknown;
  /** Mends it; where left out, it is renamed. */
  readonly repair?: Fix;
}

function knownFiles(data: string): KnownFile[] {
  const tokenFile = join(data, "identity", "tokens.enc");
  return [
    {
      path: approvalsPath(data),
      afterwards: "The tools of all servers then count as seen for the first time.",
      check: () => new ApprovalsFile(data).read(),
    },
    {
      path: join(data, "access-tokens.json"),
      afterwards: "No token is valid then, until you create new ones.",
      check: () => new AccessTokens(data).list(),
    },
    {
      path: join(data, "devices.json"),
      afterwards: "All browsers and phones then have to log in again.",
      check: () => new Devices(data).list(),
    },
    {
      path: join(data, "trust.json"),
      afterwards: "Projects then have to be trusted again with `trunkline config trust`.",
      check: () => new TrustStore(data).check(),
    },
    {
      path: journalPath(data),
      afterwards: "Earlier switches of identities cannot be undone then.",
      check: () => new Journal(data).entries(),
    },
    {
      path: tokenFile,
      afterwards:
        "The tokens of identities then have to be stored again with `trunkline identity token set`.",
      // Looks for a token that is not there, for which no key is needed.
      check: () =>
        new EncryptedFile(tokenFile, { env: {}, keyFile: "" }).has({ service: "", account: "" }),
    },
    {
      path: join(data, AUDIT_FILE),
      afterwards: "",
      check: () => checkLines(join(data, AUDIT_FILE)),
      repair: repairLines(data),
    },
  ];
}

/** Whether what Trunkline keeps can be read: its databases and other files. */
export async function checkFiles(data: string, allowance: CheckLimits): Promise<CheckResult[]> {
  if (!existsSync(data)) return [ok("none yet")];
  const [databases, files] = await Promise.all([
    databaseFindings(data, allowance),
    Promise.all(knownFiles(data).map((file) => fileFindings(data, file))),
  ]);
  const findings = [...databases, ...files.flat()];
  if (findings.some(({ state }) => state !== "ok")) return findings;
  return [...findings, ok("all can be read")];
}

/** Milliseconds before the check is given up, so that what is known by then is reported. */
const MARGIN = 300;

async function databaseFindings(
  data: string,
  { patience, signal }: CheckLimits,
): Promise<CheckResult[]> {
  const present = DATABASES.filter(({ file }) => existsSync(join(data, file)));
  const closed = present.flatMap(({ file }) => closedFindings(join(data, file)));
  const there = present.filter(({ file }) => closedFindings(join(data, file)).length === 0);
  const enough = AbortSignal.any([signal, AbortSignal.timeout(Math.max(patience - MARGIN, 100))]);
  const checked = await checkDatabases(
    there.map(({ file }) => join(data, file)),
    enough,
  );
  const findings = checked.flatMap(({ path, problem, version }, index): CheckResult[] => {
    const { holds = "", version: known = 0 } = there[index] ?? {};
    if (problem !== undefined) {
      const says = `${path} is damaged: ${problem.replaceAll(/\s+/g, " ")}`;
      const fix = setAside(data, path);
      const next = `Restore it from a backup, or run \`${FIX_COMMAND}\`, which renames it after a question. Its ${holds} are then not available.`;
      return [fail(says, { ...byFix(fix), next })];
    }
    if (version === undefined) {
      const says = `${path} is large, and was not read to its end in time`;
      return [ok(says, byCommand("trunkline doctor --deep"))];
    }
    if (version <= known) return [];
    const says = `${path} was made by a newer Trunkline (version ${version} of its ${holds}, this one knows ${known})`;
    const next = "Update Trunkline, or choose another folder with --data or TRUNKLINE_DATA.";
    return [fail(says, next)];
  });
  return [...closed, ...findings];
}

/** Problems that prevent opening a file: its kind, its mode, its owner. */
function closedFindings(path: string): CheckResult[] {
  const { mode, uid } = statSync(path);
  // Opening a pipe would wait for somebody to write to it.
  if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
    return [fail(`${path} is not a file`, `Move it away: mv ${shellQuote(path)} ~`)];
  }
  const isSecret = path.endsWith(".enc");
  const mine = { ...byCommand(`chmod 600 ${shellQuote(path)}`), fix: makePrivate(path, 0o600) };
  if (isSecret && (mode & 0o077) !== 0 && process.platform !== "win32") {
    return [fail(`${path} can be read by others on this machine, so it is not used`, mine)];
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return [];
  } catch (error) {
    const own = process.getuid?.() ?? uid;
    const theirs = byCommand(`sudo chown ${own} ${shellQuote(path)}`);
    return [fail(`cannot use ${path}: ${fileWords(error, path)}`, uid === own ? mine : theirs)];
  }
}

async function fileFindings(data: string, file: KnownFile): Promise<CheckResult[]> {
  const { path, afterwards, check, repair } = file;
  if (!existsSync(path)) return [];
  const closed = closedFindings(path);
  if (closed.length > 0) return closed;
  try {
    await check();
    return [];
  } catch (error) {
    // The messages of the stores end with advice, which the doctor replaces with its own.
    const [says = ""] = (error as Error).message.split(/(?<=\.) (?=[A-Z])/, 1);
    if (repair !== undefined) return [fail(says, byFix(repair))];
    const next = `Repair it, or run \`${FIX_COMMAND}\`, which renames it after a question. ${afterwards}`;
    return [fail(says, { ...byFix(setAside(data, path)), next })];
  }
}

function repairLines(data: string): Fix {
  const ending = damagedEnding();
  return {
    does: `Move the damaged lines of the audit to a file named *${ending}; all other entries stay`,
    asks: true,
    apply: () => repairAudit(data, ending),
  };
}

/** Bytes at the start and at the end of a long file that are looked at. */
const SAMPLE = 256 * 1024;

/** Throws unless the lines at the start and at the end of a file are JSON objects. */
async function checkLines(path: string): Promise<void> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  const head = await readAt(file, 0, Math.min(size, SAMPLE));
  const from = Math.max(SAMPLE, size - SAMPLE);
  const tail = from < size ? await readAt(file, from, size - from) : "";
  // The last line of each piece may be torn, and the first of the second.
  const lines = [...head.split("\n").slice(0, -1), ...tail.split("\n").slice(1, -1)];
  const bad = lines.filter((line) => line !== "" && objectIn(line) === undefined).length;
  const isOneLongLine = lines.length === 0 && size >= SAMPLE;
  if (bad === 0 && !isOneLongLine) return;
  throw new Error(`Cannot read '${path}': ${bad || "its first"} lines are not JSON.`);
}

async function readAt(
  file: Awaited<ReturnType<typeof open>>,
  position: number,
  length: number,
): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.toString("utf8", 0, bytesRead);
}

/** Endings of the files that SQLite keeps beside a database. */
const COMPANIONS = ["-wal", "-shm"];

/** Renames damaged files, so that the next program that needs them starts new ones. */
export function setAside(data: string, ...paths: readonly [string, ...string[]]): Fix {
  const ending = damagedEnding();
  const [first, ...others] = paths;
  const more = others.length === 0 ? "" : `, and ${others.length} more files alike`;
  return {
    does: `Rename ${first} to ${basename(first)}${ending}${more}`,
    asks: true,
    apply: async () => {
      await mustBeAlone(data);
      const all = paths.flatMap((path) => [path, ...COMPANIONS.map((end) => path + end)]);
      for (const path of all.filter((each) => existsSync(each))) {
        await rename(path, `${path}${ending}`);
      }
    },
  };
}

/** What is added to the name of a damaged file. It has no colon, which Windows does not allow. */
function damagedEnding(): string {
  return `.damaged-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
}

/** Throws if other programs use the folder: they would go on writing to the renamed file. */
async function mustBeAlone(data: string): Promise<void> {
  const gateways = await runningGateways(data);
  using holder = Holder.at(join(data, HOLDERS));
  const others = holder.others().map((id) => id.split("-", 1)[0]);
  if (others.length === 0 && gateways.length === 0) return;
  const names = [...gateways.map(({ url }) => `the gateway on ${url}`), ...others];
  const why = `other programs use the data folder: ${names.join(", ")}`;
  throw new TrunklineError("conflict", `${why}. Stop them, and try again`);
}

/** Work trees that sessions of killed processes have left. The next start puts them away, too. */
export async function checkWorktrees(
  config: Config,
  env: NodeJS.ProcessEnv,
): Promise<CheckResult[]> {
  const { data } = config;
  if (!existsSync(join(data, "worktrees"))) return [];
  const worktrees = new SessionWorktrees(config, env);
  await using stored = await SessionLog.open(data);
  const strays = await worktrees.strays(stored);
  const [first] = strays;
  if (first === undefined) return [];
  const count = strays.length === 1 ? "one work tree" : `${strays.length} work trees`;
  const says = `${count} of sessions that are gone, such as ${join(data, "worktrees", first)}`;
  const fix = {
    does: `Remove ${count}, and keep the work in them on branches`,
    apply: async () => {
      await using log = await SessionLog.open(data);
      await worktrees.sweep(log, new Log("error"));
      const left = await worktrees.strays(log);
      if (left.length > 0)
        throw new Error(`${left.length} could not be removed: ${left.join(", ")}`);
    },
  };
  return [warn(says, byFix(fix))];
}
