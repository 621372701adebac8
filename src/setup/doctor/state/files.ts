import { accessSync, constants, existsSync, statSync } from "node:fs";
import { chmod, open } from "node:fs/promises";
import { join } from "node:path";

import { fileWords } from "../../../base/errors.ts";
import { AccessTokens } from "../../../store/access/access-tokens.ts";
import { ApprovalsFile } from "../../../store/approval/approvals-file.ts";
import { AUDIT_FILE } from "../../../store/audit/audit-names.ts";
import { repairAudit } from "../../../store/audit/repair-audit.ts";
import { checkDatabases } from "../../../store/check-databases.ts";
import { DOCUMENT_MIGRATIONS } from "../../../store/documents.ts";
import { Devices } from "../../../store/access/devices.ts";
import { NOTIFICATIONS_FILE, NOTIFY_MIGRATIONS } from "../../../store/notify/notify-store.ts";
import { REVIEW_MIGRATIONS } from "../../../store/review/reviews-schema.ts";
import { SHARED_FILE, SHARED_MIGRATIONS } from "../../../fleet/replication/shared-base.ts";
import { SESSION_MIGRATIONS } from "../../../store/session/session-log.ts";
import { approvalsPath, REVIEWS_FILE } from "../../../store/store-files.ts";
import { TASK_MIGRATIONS } from "../../../store/task-records.ts";
import { TrustStore } from "../../../config/trust/trust.ts";
import { shellQuote } from "../../../base/text/shell-word.ts";
import { EncryptedFile } from "../../../identity/tokens/encrypted-file.ts";
import { Journal } from "../../../identity/switch/journal.ts";
import { journalPath } from "../../../identity/switch/journal-path.ts";
import { byCommand, byFix, FIX_COMMAND, type Finding, type Fix } from "../finding.ts";
import type { Allowance } from "../run-checks.ts";
import { damagedEnding, setAside } from "./set-aside.ts";

const what = "Data files";

interface KnownDatabase {
  readonly file: string;
  readonly holds: string;
  /** The version of the schema that this Trunkline has. */
  readonly version: number;
}

const DATABASES: readonly KnownDatabase[] = [
  { file: "sessions.sqlite", holds: "sessions", version: SESSION_MIGRATIONS.length },
  { file: REVIEWS_FILE, holds: "review threads", version: REVIEW_MIGRATIONS.length },
  { file: NOTIFICATIONS_FILE, holds: "notifications", version: NOTIFY_MIGRATIONS.length },
  { file: "tasks.sqlite", holds: "tasks", version: TASK_MIGRATIONS.length },
  { file: SHARED_FILE, holds: "what is shared in a fleet", version: SHARED_MIGRATIONS.length },
  { file: "documents.sqlite", holds: "documents of plugins", version: DOCUMENT_MIGRATIONS.length },
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
export async function checkFiles(data: string, allowance: Allowance): Promise<Finding[]> {
  if (!existsSync(data)) return [{ state: "ok", what, says: "none yet" }];
  const [databases, files] = await Promise.all([
    databaseFindings(data, allowance),
    Promise.all(knownFiles(data).map((file) => fileFindings(data, file))),
  ]);
  const findings = [...databases, ...files.flat()];
  if (findings.some(({ state }) => state !== "ok")) return findings;
  return [...findings, { state: "ok", what, says: "all can be read" }];
}

/** Milliseconds before the check is given up, so that what is known by then is reported. */
const MARGIN = 300;

async function databaseFindings(data: string, { patience, signal }: Allowance): Promise<Finding[]> {
  const present = DATABASES.filter(({ file }) => existsSync(join(data, file)));
  const closed = present.flatMap(({ file }) => closedFindings(join(data, file)));
  const there = present.filter(({ file }) => closedFindings(join(data, file)).length === 0);
  const enough = AbortSignal.any([signal, AbortSignal.timeout(Math.max(patience - MARGIN, 100))]);
  const checked = await checkDatabases(
    there.map(({ file }) => join(data, file)),
    enough,
  );
  const findings = checked.flatMap(({ path, problem, version }, index): Finding[] => {
    const { holds = "", version: known = 0 } = there[index] ?? {};
    if (problem !== undefined) {
      const says = `${path} is damaged: ${problem.replaceAll(/\s+/g, " ")}`;
      const fix = setAside(data, path);
      const next = `Restore it from a backup, or run \`${FIX_COMMAND}\`, which renames it after a question. Its ${holds} are then not available.`;
      return [fail(says, { ...byFix(fix), next })];
    }
    if (version === undefined) {
      const says = `${path} is large, and was not read to its end in time`;
      return [{ state: "ok", what, says, ...byCommand("trunkline doctor --deep") }];
    }
    if (version <= known) return [];
    const says = `${path} was made by a newer Trunkline (version ${version} of its ${holds}, this one knows ${known})`;
    const next = "Update Trunkline, or choose another folder with --data or TRUNKLINE_DATA.";
    return [fail(says, { next })];
  });
  return [...closed, ...findings];
}

/** What keeps a file from being opened, whether it is whole or not. */
function closedFindings(path: string): Finding[] {
  const { mode, uid } = statSync(path);
  // Opening a pipe would wait for somebody to write to it.
  if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
    return [fail(`${path} is not a file`, { next: `Move it away: mv ${shellQuote(path)} ~` })];
  }
  const isSecret = path.endsWith(".enc");
  const mine = { ...byCommand(`chmod 600 ${shellQuote(path)}`), fix: makePrivate(path) };
  if (isSecret && (mode & 0o077) !== 0 && process.platform !== "win32") {
    return [fail(`${path} can be read by others on this machine, so it is not used`, mine)];
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return [];
  } catch (error) {
    const own = process.getuid?.() ?? uid;
    const theirs = byCommand(`sudo chown ${own} ${shellQuote(path)}`);
    const says = `cannot use ${path}: ${fileWords(error, path)}`;
    return [fail(says, uid === own ? mine : theirs)];
  }
}

function makePrivate(path: string): Fix {
  const does = `Make ${path} accessible to you, and to nobody else`;
  return { does, apply: () => chmod(path, 0o600) };
}

function fail(says: string, remedy: Pick<Finding, "next" | "command" | "fix">): Finding {
  return { state: "fail", what, says, ...remedy };
}

async function fileFindings(data: string, file: KnownFile): Promise<Finding[]> {
  const { path, afterwards, check, repair } = file;
  if (!existsSync(path)) return [];
  const closed = closedFindings(path);
  if (closed.length > 0) return closed;
  try {
    await check();
    return [];
  } catch (error) {
    // The messages of the stores end with advice for whoever has no doctor.
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
  const bad = lines.filter((line) => line !== "" && !isObject(line)).length;
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

function isObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}
