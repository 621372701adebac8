import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempDisposableSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

import { systemProgram } from "../src/sandbox/remedy.ts";

// Clones this repository and runs `npm test` in the places where people do, one after the other: prints
// a line for each, and what has failed. Words choose the places whose names contain one of them, and
// words after `--` choose test files there. `--combined` takes few places that have all conditions.

const ROOT = join(import.meta.dirname, "..");
const INSTALLED = [".", "test/acp", "test/agent"].map((folder) => join(folder, "node_modules"));
const isRoot = process.getuid?.() === 0;
/** Where clones are made. Not in /tmp, which sandboxes hide, nor in /opt, which they show as it is. */
const PARENT = isRoot ? "/srv" : homedir();
const BURNERS = 4;

const given = process.argv.slice(2);
const choice = given.slice(0, [...given, "--"].indexOf("--"));
const files = given.slice(choice.length + 1);
const words = choice.filter((word) => word !== "--combined");
let isStopped = false;

interface Place {
  /** Variables that differ from those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Only root may enter the folder of the clone. */
  readonly isPrivate?: boolean;
  /** Beside others that take all processors. */
  readonly isBusy?: boolean;
  /** A command of root that runs the tests in some surroundings. */
  readonly within?: (folder: string) => readonly string[];
}

const LANG_C = { LANG: "C", LC_ALL: "C" };
const INTEGRATION = { CI: "true", NO_COLOR: "1", COLUMNS: "40", TERM: undefined };

/** One condition each, so that the name of a place says what a failure comes from. */
const SEPARATE: Readonly<Record<string, Place>> = {
  "root-0700": { isPrivate: true, within: () => [] },
  "plain-user": { within: asPlainUser },
  "no-bubblewrap": { within: withoutBubblewrap },
  "term-unset": { env: { TERM: undefined } },
  "term-dumb": { env: { TERM: "dumb" } },
  "lang-c": { env: LANG_C },
  "continuous-integration": { env: INTEGRATION },
  "busy-1": { isBusy: true },
  "busy-2": { isBusy: true },
  "busy-3": { isBusy: true },
};

/** The same conditions in three runs. */
const COMBINED: Readonly<Record<string, Place>> = {
  "busy-root-0700-dumb": {
    isBusy: true,
    isPrivate: true,
    env: { TERM: "dumb" },
    within: withEmptyHome,
  },
  "busy-plain-user-lang-c": {
    isBusy: true,
    env: { TERM: undefined, ...LANG_C },
    within: asPlainUser,
  },
  "busy-no-bubblewrap-ci": { isBusy: true, env: INTEGRATION, within: withoutBubblewrap },
};

const PLACES = choice.includes("--combined") ? COMBINED : SEPARATE;

function withEmptyHome(folder: string): readonly string[] {
  const home = join(folder, "home");
  mkdirSync(home);
  return ["env", `HOME=${home}`];
}

/** A user whom the system knows, with a home, as `useradd` makes one: here only for the tests. */
function asPlainUser(folder: string): readonly string[] {
  const passwd = readFileSync("/etc/passwd", "utf8");
  let id = 60_000;
  while (new RegExp(`^([^:]*:){2,3}${id}:`, "m").test(passwd)) id--;
  const name = `trunkline-${id}`;
  const home = join(folder, "home");
  execFileSync("install", ["--directory", "--mode=700", home]);
  writeFileSync(join(folder, "passwd"), `${passwd}${name}:x:${id}:${id}::${home}:/bin/sh\n`);
  const groups = readFileSync("/etc/group", "utf8");
  writeFileSync(join(folder, "group"), `${groups}${name}:x:${id}:\n`);
  execFileSync("chown", ["-R", `${id}:${id}`, home, join(folder, "clone")]);
  const mounts = ["passwd", "group"].map((file) => `mount --bind ${folder}/${file} /etc/${file}`);
  const who = ["setpriv", `--reuid=${id}`, `--regid=${id}`, "--clear-groups", "--inh-caps=-all"];
  // Ours may have folders that are closed to others.
  const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
  const path = `PATH=${dirname(npm)}:/usr/local/bin:/usr/bin:/bin`;
  const variables = [path, `HOME=${home}`, `USER=${name}`, `LOGNAME=${name}`];
  return [...inNamespace(...mounts), ...who, "env", ...variables];
}

function withoutBubblewrap(): readonly string[] {
  const bwrap = systemProgram("bwrap");
  return bwrap === undefined ? [] : inNamespace(`mount --bind /dev/null ${bwrap}`);
}

/** Runs a command when something is mounted, which nobody else sees. */
function inNamespace(...mounts: readonly string[]): readonly string[] {
  const script = [...mounts, 'exec "$@"'].join(" && ");
  return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"];
}

/** Takes a processor each, for as long as this process is there. */
function burn(): Disposable {
  const loop = `while kill -0 ${process.pid} 2>/dev/null; do :; done`;
  const burners = Array.from({ length: BURNERS }, () => spawn("sh", ["-c", loop]));
  return {
    [Symbol.dispose]() {
      for (const burner of burners) burner.kill("SIGKILL");
    },
  };
}

function cloneTo(clone: string): void {
  // The clone may be another user's, as whom we then run git.
  const git = ["-c", "safe.directory=*", "clone", "--quiet", "--no-hardlinks", ROOT, clone];
  execFileSync("git", git, { stdio: "inherit" });
  for (const path of INSTALLED) {
    execFileSync("cp", ["-a", "--reflink=auto", join(ROOT, path), join(clone, path)]);
  }
}

/** Undefined if all tests have passed, else what the runner has said. */
async function test({ env, isPrivate, isBusy, within }: Place): Promise<string | undefined> {
  using folder = mkdtempDisposableSync(join(PARENT, "trunkline-everywhere-"));
  if (isPrivate !== true) chmodSync(folder.path, 0o755);
  const clone = join(folder.path, "clone");
  cloneTo(clone);
  const words = [...(within?.(folder.path) ?? []), "npm", "test", "--", ...files];
  const [command = "", ...args] = words;
  const file = join(folder.path, "said");
  const said = openSync(file, "w");
  using _burners = isBusy === true ? burn() : undefined;
  // In a group of its own, which is ended with this process.
  const child = spawn(command, args, {
    cwd: clone,
    env: { ...withoutNpm(), ...env },
    stdio: ["ignore", said, said],
    detached: true,
  });
  closeSync(said);
  const end = (): void => {
    isStopped = true;
    process.kill(-(child.pid ?? 0), "SIGTERM");
  };
  process.once("SIGINT", end).once("SIGTERM", end);
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  process.off("SIGINT", end).off("SIGTERM", end);
  if (code === 0) return undefined;
  const text = readFileSync(file, "utf8");
  const [, failures = text] = text.split(/^(?=✖ failing tests:$)/m);
  return `${failures}\nnpm test ended with ${code ?? signal}.\n`;
}

/** Those of the npm that has started us are about another folder. */
function withoutNpm(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
}

const names = Object.keys(PLACES).filter(
  (name) => words.length === 0 || words.some((word) => name.includes(word)),
);
if (names.length === 0) {
  console.error(`No place matches ${words.join(", ")}. Places: ${Object.keys(PLACES).join(", ")}.`);
  process.exitCode = 1;
}
if (execFileSync("git", ["status", "--porcelain"], { cwd: ROOT, encoding: "utf8" }) !== "") {
  console.error("What is not committed is not tested: the tests run in clones.");
}
for (const name of names) {
  const place = PLACES[name] ?? {};
  if (place.within !== undefined && !isRoot) {
    console.log(`skip ${name.padEnd(24)} only root can do this`);
    continue;
  }
  if (isStopped) break;
  const began = performance.now();
  const failures = await test(place);
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`${failures === undefined ? "ok  " : "FAIL"} ${name.padEnd(24)} ${seconds} s`);
  if (failures === undefined) continue;
  console.log(failures);
  process.exitCode = 1;
}
