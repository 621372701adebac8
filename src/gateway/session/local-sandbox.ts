import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import type { AskHost, CommandSandbox, Confinement } from "../../agent/files/command-sandbox.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { ChildOptions, Confine } from "../../base/process/child-process.ts";
import { Lazy } from "../../base/lazy.ts";
import { isOtherMachine } from "../../base/private-address.ts";
import { homeOf } from "../../base/process/environment.ts";
import { ShadowGit } from "../../git/shadow/shadow-git.ts";
import {
  CommandSandbox as Sandbox,
  type FileRules,
  type Mount,
} from "../../sandbox/command-sandbox.ts";
import { EgressProxy } from "../../sandbox/egress-proxy.ts";
import { cacheVariables, homeRules } from "../../sandbox/home-rules.ts";
import { systemProgram } from "../../sandbox/system-program.ts";
import { ownPaths } from "../config/locations.ts";
import type { House } from "../house.ts";

const SETTING = "`agent.egress.allowHosts`";

/** A running command. */
interface Visit {
  readonly ask: AskHost;
  readonly answers: Map<string, Promise<boolean>>;
  readonly refused: Map<string, string>;
}

/** The open sandbox of a session, and its proxy. */
interface Opened extends AsyncDisposable {
  readonly sandbox: Sandbox;
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
export class LocalSandbox implements CommandSandbox {
  readonly #house: House;
  readonly #folders: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #visits = new Set<Visit>();
  readonly #opened = new Lazy(() => this.#open());

  constructor(house: House, folders: readonly string[], env: NodeJS.ProcessEnv = process.env) {
    this.#house = house;
    this.#folders = folders.map((folder) => resolve(folder));
    this.#env = env;
  }

  get mayBeLeft(): boolean {
    return this.#house.config.agent.sandbox !== "on";
  }

  async enter(ask: AskHost): Promise<Confinement | undefined> {
    const opened = await this.#opened.get();
    if (opened === undefined) return undefined;
    const { sandbox } = opened;
    const git = await opened.git.enter();
    const visit: Visit = { ask, answers: new Map(), refused: new Map() };
    this.#visits.add(visit);
    const confine: Confine = (program) => this.#wrap(sandbox, program, git.mounts);
    const notes: string[] = [];
    const end = new Lazy(async () => {
      this.#visits.delete(visit);
      notes.push(...(await git.end()));
    });
    const { limits } = git;
    const { refused } = visit;
    return { refused, notes, limits, confine, [Symbol.asyncDispose]: () => end.get() };
  }

  #wrap(sandbox: Sandbox, program: ChildOptions, mounts: readonly Mount[]): ChildOptions {
    const { command, args = [], env, cwd = "/", ...rest } = program;
    const variables = { ...UNASKED, ...this.#cacheVariables(), ...env };
    return { ...rest, ...sandbox.wrap({ command, args, env: variables, cwd }, mounts) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#opened.opened())?.[Symbol.asyncDispose]();
  }

  async #open(): Promise<Opened | undefined> {
    const { config, log } = this.#house;
    const { sandbox: wanted } = config.agent;
    // In a remote run, the whole program is already in a sandbox.
    if (wanted === "off" || this.#env.TRUNKLINE_SERVICES !== undefined) return undefined;
    try {
      return await this.#start();
    } catch (error) {
      const why = (error as Error).message;
      if (wanted === "on") {
        const next =
          "Run `trunkline doctor` to see how to fix it, or set `agent.sandbox` to `auto`";
        throw new TrunklineError(
          "unavailable",
          `There is no sandbox for commands: ${why}. ${next}.`,
        );
      }
      if (!isSaid) log.warn("agent.no-sandbox", { why, next: "Run `trunkline doctor`." });
      isSaid = true;
      return undefined;
    }
  }

  async #start(): Promise<Opened> {
    const problem = problemWith(this.#folders);
    if (problem !== undefined) throw new TrunklineError("unavailable", problem);
    const { bwrap, nsenter } = sandboxPrograms();
    await using opening = new AsyncDisposableStack();
    const egress = opening.use(this.#egress());
    const files = (): FileRules => this.#files();
    const { data: own } = this.#house.config;
    const data = join(own, "sandbox");
    const sandbox = opening.use(await Sandbox.open({ data, bwrap, nsenter, files, egress }));
    const git = await ShadowGit.open({
      data: join(own, "git"),
      folders: this.#folders,
      confine: (program, mounts) => this.#wrap(sandbox, program, mounts),
    });
    const open = opening.move();
    return { sandbox, git, [Symbol.asyncDispose]: () => open.disposeAsync() };
  }

  #egress(): EgressProxy {
    return new EgressProxy({
      allowHosts: this.#house.config.agent.egress.allowHosts,
      forbids: (address) => !isOtherMachine(address),
      setting: SETTING,
      permit: (host) => this.#permit(host),
      refused: (host, why) => {
        for (const { refused } of this.#visits) refused.set(host, why);
      },
    });
  }

  /** Asks in the newest command, because it is not known which of several commands connects. */
  async #permit(host: string): Promise<boolean> {
    const visit = [...this.#visits].at(-1);
    if (visit === undefined) return false;
    const known = visit.answers.get(host) ?? visit.ask(host);
    visit.answers.set(host, known);
    try {
      return await known;
    } catch {
      // Nobody could be asked. The next connection asks again.
      visit.answers.delete(host);
      return false;
    }
  }

  #files(): FileRules {
    const { config, reloading } = this.#house;
    const { agent, data } = config;
    const home = homeRules(homeOf(this.#env), this.#env);
    // The files too: they may be in a folder of the session.
    const own = ownPaths(data, reloading?.files, this.#env);
    return {
      write: [...home.write, ...agent.files.write, ...this.#folders],
      keep: home.keep,
      hide: [...home.hide, ...agent.files.hide, ...own],
      show: [...home.show, ...agent.files.show],
    };
  }

  #cacheVariables(): Record<string, string> {
    return cacheVariables(homeOf(this.#env), this.#env, existsSync);
  }
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

function problemWith(folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    if (folder === "/") return "the session works in '/', which contains the whole machine";
    const found = statSync(folder, { throwIfNoEntry: false });
    // It may be on the machine of the editor; commands then run in the editor's terminal.
    if (found === undefined) return `the folder '${folder}' is not on this machine`;
    // Root in a sandbox cannot access files of other users.
    if (process.getuid?.() === 0 && found.uid !== 0) {
      return `Trunkline runs as root, and '${folder}' belongs to another user`;
    }
  }
  return undefined;
}
