import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
  readFileSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve, dirname } from "node:path";
import type { HostConsent, CommandSandbox } from "../../agent/files/command-sandbox.ts";
import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";
import { isInside, realPath } from "../../base/file/path.ts";
import type { ChildOptions, Confiner } from "../../base/process/child-process.ts";
import { Lazy } from "../../base/lazy.ts";
import { isOtherMachine } from "../../base/private-address.ts";
import { homeOf } from "../../base/process/environment.ts";
import { ShadowGit } from "../../git/shadow/shadow-git.ts";
import { type CommandSandbox as Sandbox, openCommandSandbox } from "../command-sandbox.ts";
import { EgressProxy } from "../egress-proxy.ts";
import { topFolder } from "../../git/git-folder.ts";
import type { FileView, Mount } from "../file-view.ts";
import { listedVariables, TOOLCHAINS } from "../home-files.ts";
import { namedFiles, type SandboxUser } from "../system-files.ts";
import { systemProgram } from "../remedy.ts";
import { folderOf, readRecord } from "../../worktree/worktrees.ts";
import { ownPaths, expandPath } from "../../config/locations.ts";
import type { AppContext } from "../../config/app-context.ts";
import { GitConfig } from "../../git/config/git-config.ts";
import { Git } from "../../git/git.ts";
import { createHash } from "node:crypto";
import { agentHooks } from "../../identity/agent-commits.ts";

const SETTING = "`agent.egress.allowHosts`";

/** A running command. */
interface RunningCommand {
  readonly ask: HostConsent;
  readonly answers: Map<string, Promise<boolean>>;
  readonly refused: Map<string, string>;
}

/** The open sandbox of a session, and its proxy. */
interface OpenSandbox extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly isShown: (path: string) => boolean;
  readonly git: ShadowGit;
}

/** Turns off telemetry and update checks: a person would be asked about each connection. */
const UNASKED = {
  npm_config_update_notifier: "false",
  NO_UPDATE_NOTIFIER: "1",
  PIP_DISABLE_PIP_VERSION_CHECK: "1",
  CHECKPOINT_DISABLE: "1",
  DO_NOT_TRACK: "1",
  NEXT_TELEMETRY_DISABLED: "1",
  DOTNET_CLI_TELEMETRY_OPTOUT: "1",
};

/** Whether this process has already warned that commands run without a sandbox. */
let isSaid = false;

/** The sandbox that the commands of one session share, opened for the first command. */
export function openLocalSandbox(
  app: AppContext,
  given: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  programs = sandboxPrograms,
): CommandSandbox {
  const { config, log, reloading } = app;
  const { sandbox: wanted, egress, files: listed, variables } = config.agent;
  const visits = new Set<RunningCommand>();
  const folders = given.map((folder) => resolve(folder));

  function wrap(
    sandbox: Sandbox,
    program: ChildOptions,
    mounts: readonly Mount[],
    hasNetwork = true,
  ): ChildOptions {
    const { command, args = [], env: own, cwd = "/", ...rest } = program;
    const shown = { ...UNASKED, ...listedVariables(own, env, variables) };
    const inside = { command, args, env: shown, cwd: realPath(cwd) };
    // Git runs them where an agent's rule adds lines to its commits; no command can change them.
    const at = agentHooks(config.data);
    const hooks = existsSync(at) ? [{ at, from: realPath(at), isWritable: false }] : [];
    return { ...rest, ...sandbox.wrap(inside, [...mounts, ...hooks], hasNetwork) };
  }

  /** Undefined where this machine can have no sandbox, and never had one. */
  const opened = new Lazy(async (): Promise<OpenSandbox | undefined> => {
    const works = workedFile(config.data);
    try {
      const started = await start();
      writeFileSync(works, "", { mode: 0o600 });
      return started;
    } catch (error) {
      if (wanted === "on" || existsSync(works)) throw unsafe(error as Error, wanted);
      // The cause may be in the project. Commands run without a sandbox only if the machine allows none.
      const why = await problemOfMachine(programs);
      if (why === undefined) throw unsafe(error as Error, wanted);
      if (!isSaid) log.warn("agent.no-sandbox", { why, next: "Run `trunkline doctor`." });
      isSaid = true;
      return undefined;
    }
  });

  async function start(): Promise<OpenSandbox> {
    const { bwrap, nsenter } = programs();
    const { data } = config;
    const homes = new ProjectHomes(data);
    const user = userOf(env);
    const real = folders.map((folder) => homes.real(folder));
    const problem = problemWith(real, user.home, realPath(data));
    if (problem !== undefined) throw new TrunklineError("unavailable", problem);
    const files = viewOf(homes, real, user.home);
    homes.note(files.write);
    const home = homes.of(await projectOf(real[0] ?? "/", data));
    const etc = await personalGitConfig(real[0] ?? "/", env);
    await using opening = new AsyncDisposableStack();
    const proxy = new EgressProxy({
      allowHosts: egress.allowHosts,
      forbids: (address) => !isOtherMachine(address),
      setting: SETTING,
      permit,
      refused: (host, why) => {
        for (const { refused } of visits) refused.set(host, why);
      },
    });
    const own = { data: join(data, "sandbox"), files, user, home, etc, egress: opening.use(proxy) };
    const sandbox = opening.use(await openCommandSandbox({ ...own, bwrap, nsenter }));
    const git = await ShadowGit.open({
      data: join(data, "git"),
      folders: real,
      confine: (program, mounts) => wrap(sandbox, program, mounts),
    });
    const open = opening.move();
    const isShown = (path: string): boolean => sandbox.shows(path);
    return { sandbox, git, isShown, [Symbol.asyncDispose]: () => open.disposeAsync() };
  }

  /** Asks in the newest command, because it is not known which of several commands connects. */
  async function permit(host: string): Promise<boolean> {
    const visit = [...visits].at(-1);
    if (visit === undefined) return false;
    try {
      return await visit.answers.getOrInsertComputed(host, visit.ask);
    } catch {
      // Nobody could be asked. The next connection asks again.
      visit.answers.delete(host);
      return false;
    }
  }

  function viewOf(
    homes: ProjectHomes,
    real: readonly string[],
    home: string,
  ): Pick<FileView, "read" | "write" | "also" | "hide"> {
    // The files too: they may be in a folder of the session.
    const own = ownPaths(config.data, reloading?.files, env);
    const isOwn = (path: string): boolean => own.some((it) => isInside(path, realPath(it)));
    const seen = (at: string, isWritable: boolean): Mount => {
      return { at: homes.inRoot(at), from: homes.real(at), isWritable };
    };
    const toolchains = TOOLCHAINS.map((path) => join(home, path));
    const tools = toolchains.filter((path) => homes.follow(path) !== undefined);
    const named = namedFiles(env, home, (path) => homes.follow(path));
    const read = [
      ...[...listed.show, ...tools, ...tops(real, home)].map((path) => seen(path, false)),
      ...named.map(({ at }) => seen(at, false)),
    ].filter(({ from }) => !isOwn(from));
    const write = [...folders, ...listed.write].map((path) => seen(path, true));
    const hide = [...listed.hide, ...own].flatMap((path) => [path, realPath(path)]);
    return {
      read: read.map(({ from }) => from),
      write: write.map(({ from }) => from),
      also: [...read, ...write].filter(({ at, from }) => at !== from),
      hide: [...new Set(hide)],
    };
  }

  return {
    mayBeLeft: wanted !== "on",

    async isThere() {
      // The folder may be on the machine of the editor, which then runs commands in its terminal. Looked up
      // each time: a command of another session may have removed the folder, and may make it again.
      const isElsewhere = folders.every((folder) => !existsSync(folder));
      const mayBeWithout = isElsewhere && wanted !== "on";
      if (mayBeWithout && (await opened.opened()) === undefined) return false;
      return (await opened.get()) !== undefined;
    },

    async enter(ask) {
      const open = await opened.get();
      if (open === undefined) throw new TrunklineError("unavailable", "There is no sandbox.");
      const { sandbox, isShown } = open;
      const git = await open.git.enter();
      const refused = new Map<string, string>();
      const visit = ask && { ask, answers: new Map(), refused };
      if (visit !== undefined) visits.add(visit);
      const confine: Confiner = (program) =>
        wrap(sandbox, program, git.mounts, visit !== undefined);
      const notes: string[] = [];
      const end = new Lazy(async () => {
        if (visit !== undefined) visits.delete(visit);
        notes.push(...(await git.end()));
      });
      const { limits } = git;
      return { refused, isShown, notes, limits, confine, [Symbol.asyncDispose]: () => end.get() };
    },

    async [Symbol.asyncDispose]() {
      await (await opened.opened())?.[Symbol.asyncDispose]();
    },
  };
}

/** The programs that a sandbox for commands needs. Throws "unavailable" if one is missing. */
export function sandboxPrograms(): { readonly bwrap: string; readonly nsenter: string } {
  if (process.platform !== "linux") {
    throw new TrunklineError("unavailable", `sandboxes need Linux; this is ${process.platform}`);
  }
  const [bwrap, nsenter] = [systemProgram("bwrap"), systemProgram("nsenter")];
  if (bwrap === undefined) throw missing("bwrap", "bubblewrap");
  if (nsenter === undefined) throw missing("nsenter", "util-linux");
  return { bwrap, nsenter };
}

function missing(program: string, pack: string): TrunklineError {
  const says = `${program} is not installed: install the package ${pack}`;
  return new TrunklineError("unavailable", says);
}

/** The file that says that a sandbox has worked here. */
export function workedFile(data: string): string {
  return join(data, "sandbox", "works");
}

/** Why this machine can have no sandbox for commands. Throws if that cannot be told now. */
export async function problemOfMachine(programs = sandboxPrograms): Promise<string | undefined> {
  const data = mkdtempSync(join(tmpdir(), "trunkline-doctor-"));
  const removeData = (): void => rmSync(data, { recursive: true, force: true });
  // On a busy machine `trunkline doctor` gives this check up, and exits before it is over.
  process.once("exit", removeData);
  try {
    using egress = new EgressProxy({ allowHosts: [], setting: "" });
    const files = { read: [], write: [], also: [], hide: [] };
    const user = { ...userOf({ HOME: "/home/nobody" }), name: "nobody" };
    const home = join(realPath(data), "home");
    mkdirSync(home);
    await using _ = await openCommandSandbox({ ...programs(), data, egress, files, user, home });
    return undefined;
  } catch (error) {
    if (error instanceof TrunklineError && error.code === "unavailable") return error.message;
    throw error;
  } finally {
    process.off("exit", removeData);
    removeData();
  }
}

/** The error of a command that must not run without a sandbox: one has worked before, or the project prevents it. */
function unsafe(error: Error, wanted: "auto" | "on" | "off"): TrunklineError {
  const next =
    wanted === "on"
      ? "Run `trunkline doctor` to see how to fix it"
      : "Run `trunkline doctor`, or set `agent.sandbox` to `off` to run commands with all your rights";
  const says = `There is no sandbox for commands: ${error.message.replace(/\.$/, "")}. ${next}.`;
  return new TrunklineError("unavailable", says, { cause: error });
}

function userOf(env: NodeJS.ProcessEnv): SandboxUser {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return { name: env.USER || (uid === 0 ? "root" : "user"), uid, gid, home: realPath(homeOf(env)) };
}

/** The tops of the work trees that folders are in: what they need may be beside them. */
function tops(folders: readonly string[], home: string): string[] {
  return folders.flatMap((folder) => {
    const top = topFolder(folder);
    return top === undefined || isInside(home, top) ? [] : [top];
  });
}

/** The folder that a home is for: the repository, in a work tree that was made for a session. */
async function projectOf(folder: string, data: string): Promise<string> {
  const [, session] = relative(realPath(join(data, "worktrees")), folder).split(/^([^/.]+)/);
  const record = session === undefined ? undefined : await readRecord(folderOf(data, session));
  return record === undefined ? folder : realPath(record.repository);
}

function problemWith(folders: readonly string[], home: string, data: string): string | undefined {
  for (const folder of folders) {
    if (isInside(home, folder)) {
      const what = folder === home ? "is your home folder" : "contains your home folder";
      return `the session works in '${folder}', which ${what}. Open a folder of a project`;
    }
    if (isInside(folder, data) && !isInside(folder, join(data, "worktrees"))) {
      return `the session works in '${folder}', which belongs to Trunkline itself`;
    }
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found === undefined) return `the folder '${folder}' is not on this machine`;
    // Root in a sandbox cannot access files of other users.
    if (process.getuid?.() === 0 && found.uid !== 0) {
      return `Trunkline runs as root, and '${folder}' belongs to another user`;
    }
  }
  return undefined;
}

/** Settings without secrets that git needs in a sandbox for commits and merges. */
const LISTED = [
  /^user\.(?:name|email|signingkey|useconfigonly)$/,
  /^(?:commit|tag)\.gpgsign$/,
  /^gpg\.format$/,
  /^core\.(?:autocrlf|eol|safecrlf|quotepath|whitespace|abbrev|commentchar|ignorecase)$/,
  /^(?:init\.defaultbranch|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|fetch\.prune)$/,
  /^(?:merge|diff|rebase|rerere|branch|color|column|log|status|safe)\.[a-z]+$/,
  /^filter\.lfs\.[a-z]+$/,
];

const MOST_IGNORED = 1024 * 1024;

/**
 * Files of /etc that give git in a sandbox the settings of the person and the machine that are on the list,
 * and what the person ignores in every repository.
 */
export async function personalGitConfig(
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<{ gitconfig: string; gitignore: string }> {
  const read = await GitConfig.read(new Git(folder, { env })).catch(() => new GitConfig([]));
  // Not the repository's own, which could name any file.
  const config = new GitConfig(
    read.entries.filter(({ scope }) => scope === "system" || scope === "global"),
  );
  const lines = config.entries
    .filter(({ key }) => LISTED.some((listed) => listed.test(key)))
    .map(({ key, value }) => settingText(key, value ?? "true"));
  const usual = join(env.XDG_CONFIG_HOME || join(homeOf(env), ".config"), "git", "ignore");
  const ignored = expandPath(config.get("core.excludesFile") ?? usual, homeOf(env), env);
  const excludes = settingText("core.excludesfile", "/etc/gitignore");
  return { gitconfig: [...lines, excludes].join(""), gitignore: textOf(ignored) };
}

function settingText(key: string, value: string): string {
  const [first, last] = [key.indexOf("."), key.lastIndexOf(".")];
  const middle = first === last ? "" : ` ${quoted(key.slice(first + 1, last))}`;
  return `[${key.slice(0, first)}${middle}]\n\t${key.slice(last + 1)} = ${quoted(value)}\n`;
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t")}"`;
}

function textOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size <= MOST_IGNORED ? readFileSync(file, "utf8") : "";
}

/** The name of the file that says which folder a home belongs to. */
const PROJECT = "project";

/** Steps of a path, those of its links included. */
const MOST_STEPS = 1_000;

/**
 * The home folders that commands in the sandbox have, one for each project, with the caches of its tools.
 * They are kept between sessions, and can be removed at any time.
 */
export class ProjectHomes {
  readonly #folder: string;

  constructor(data: string) {
    this.#folder = join(data, "sandbox", "homes");
  }

  /** The home of a project, which is made if it is missing. */
  of(project: string): string {
    const folder = join(this.#folder, this.#noted(project));
    const home = join(folder, "home");
    mkdirSync(home, { recursive: true, mode: 0o700 });
    return realpathSync.native(home);
  }

  /** Notes folders that commands are about to write to. */
  note(folders: readonly string[]): void {
    for (const folder of folders) this.#noted(folder);
  }

  /**
   * The path without links. Throws if one of the links is in a folder that commands have written to: they
   * may have made it, and it may lead to anything.
   */
  real(path: string): string {
    const written = this.#written();
    const steps = stepsOf(path);
    let real = "/";
    for (let count = 0; steps.length > 0; count++) {
      const next = join(real, steps.shift() ?? "");
      const isLink = lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() === true;
      if (!isLink) {
        real = next;
        continue;
      }
      if (count > MOST_STEPS || written.some((folder) => isInside(real, folder))) {
        const why = `'${next}' is a link that a command may have made`;
        throw new TrunklineError("unavailable", `'${path}' is not used: ${why}. Name its target`);
      }
      const target = readlinkSync(next);
      steps.unshift(...stepsOf(target));
      if (target.startsWith("/")) real = "/";
    }
    return real;
  }

  /** The path without links; undefined if it does not exist, or must not be followed. */
  follow(path: string): string | undefined {
    const real = attempt(() => this.real(path));
    return real !== undefined && existsSync(real) ? real : undefined;
  }

  /** The path without a link in the root, which sandboxes have, too. */
  inRoot(path: string): string {
    const [, first = "", ...rest] = path.split("/");
    return join(realPath(`/${first}`), ...rest);
  }

  #noted(folder: string): string {
    const name = createHash("sha256").update(folder).digest("hex").slice(0, 32);
    const file = join(this.#folder, name, PROJECT);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, folder, { mode: 0o600 });
    return name;
  }

  #written(): string[] {
    try {
      return readdirSync(this.#folder).map((name) =>
        readFileSync(join(this.#folder, name, PROJECT), "utf8"),
      );
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }
}

function stepsOf(path: string): string[] {
  return path.split("/").filter((step) => step !== "" && step !== ".");
}
