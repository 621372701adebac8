import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { TrunklineError } from "../../base/errors.ts";
import { homeOf } from "../../base/process/environment.ts";
import { replaceFile } from "../../store/replace-file.ts";
import { LABEL, plistText, type ServiceWords, UNIT, unitText } from "./service.ts";

export interface ServiceState {
  /** As the service manager calls it: "active", "failed", "running", … */
  readonly state: string;
  readonly since?: string | undefined;
  readonly pid?: number | undefined;
  /** Its last messages, oldest first. */
  readonly lines: readonly string[];
}

/** The service manager of a system, for one user. */
export interface ServiceManager {
  /** The file that tells it about us. */
  readonly file: string;
  text(words: ServiceWords): string;
  /** Throws "unavailable", with what to do, if it does not run here. */
  check(): Promise<void>;
  /** Loads the file and starts the service; starts it again if the file has changed. */
  start(isChanged: boolean): Promise<void>;
  /** Stops the service and forgets it. */
  stop(): Promise<void>;
  status(): Promise<ServiceState>;
  /** What the user should know, such as that the service ends with the login. */
  advice(): Promise<string | undefined>;
}

const TIMEOUT = 60_000;
const LINES = 10;

/** Runs a program to its end. Its output; undefined if it fails or is missing. */
async function ask(env: NodeJS.ProcessEnv, ...words: string[]): Promise<string | undefined> {
  const [command = "", ...args] = words;
  const running = promisify(execFile)(command, args, { env, timeout: TIMEOUT });
  return await running.then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}

/** The same, but a failure is thrown in words. */
async function tell(env: NodeJS.ProcessEnv, ...words: string[]): Promise<string> {
  const [command = "", ...args] = words;
  try {
    const { stdout } = await promisify(execFile)(command, args, { env, timeout: TIMEOUT });
    return stdout;
  } catch (error) {
    const { stderr = "", message } = error as {
      readonly stderr?: string;
      readonly message: string;
    };
    const why = stderr.trim() || message;
    const says = `'${words.join(" ")}' failed: ${why}`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
}

/** systemd, as it runs for each user who has logged in. */
export class UserSystemd implements ServiceManager {
  readonly file: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
    const config = env.XDG_CONFIG_HOME ?? join(homeOf(env), ".config");
    this.file = join(config, "systemd/user", UNIT);
  }

  text(words: ServiceWords): string {
    return unitText(words);
  }

  async check(): Promise<void> {
    const state = await this.#ctl("show", "--property=Version").catch((error: unknown) => error);
    if (typeof state === "string") return;
    const why = "no systemd runs for your user here, as in most containers and after `su`";
    const next =
      "Log in over ssh or at a screen and try again, or have what supervises this machine run `trunkline serve`; `trunkline service install --print` shows a unit to start from";
    throw new TrunklineError("unavailable", `Cannot use a service: ${why}. ${next}.`, {
      cause: state,
    });
  }

  async start(isChanged: boolean): Promise<void> {
    await this.#ctl("daemon-reload");
    await this.#ctl("enable", "--quiet", UNIT);
    await this.#ctl(isChanged ? "restart" : "start", UNIT);
  }

  async stop(): Promise<void> {
    // Fails where it was never enabled.
    await this.#ctl("disable", "--quiet", "--now", UNIT).catch(() => {});
    await rm(this.file, { force: true });
    await this.#ctl("daemon-reload").catch(() => {});
    await this.#ctl("reset-failed", UNIT).catch(() => {});
  }

  async status(): Promise<ServiceState> {
    const names = ["ActiveState", "SubState", "ActiveEnterTimestamp", "MainPID"];
    const shown = await this.#ctl("show", UNIT, ...names.map((name) => `--property=${name}`));
    const values = new Map(
      shown.split("\n").map((line) => {
        const at = line.indexOf("=");
        return [line.slice(0, at), line.slice(at + 1)] as const;
      }),
    );
    const since = values.get("ActiveEnterTimestamp");
    const pid = Number(values.get("MainPID"));
    const logged = ["--user", "--unit", UNIT, "--lines", String(LINES), "--no-pager"];
    const lines = await ask(this.#env, "journalctl", ...logged, "--output", "short-iso", "--quiet");
    return {
      state: `${values.get("ActiveState")} (${values.get("SubState")})`,
      ...(since ? { since } : {}),
      ...(pid > 0 ? { pid } : {}),
      lines: lines ? lines.split("\n") : [],
    };
  }

  /** systemd ends what it runs for a user when the last login ends, unless the user lingers. */
  async advice(): Promise<string | undefined> {
    const user = this.#env.USER ?? String(process.getuid?.() ?? "");
    const linger = await ask(this.#env, "loginctl", "show-user", user, "--property=Linger");
    if (linger === "Linger=yes") return undefined;
    return "It ends when you log out. To let it run on: loginctl enable-linger";
  }

  async #ctl(...args: string[]): Promise<string> {
    return await tell(this.#env, "systemctl", "--user", ...args);
  }
}

/** launchd of macOS, in the login of the user. */
export class Launchd implements ServiceManager {
  readonly file: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #domain = `gui/${process.getuid?.() ?? 0}`;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
    this.file = join(homeOf(env), "Library/LaunchAgents", `${LABEL}.plist`);
  }

  text(words: ServiceWords): string {
    return plistText(words, homeOf(this.#env));
  }

  async check(): Promise<void> {
    await tell(this.#env, "launchctl", "print", this.#domain);
  }

  async start(isChanged: boolean): Promise<void> {
    const service = `${this.#domain}/${LABEL}`;
    const isLoaded = (await ask(this.#env, "launchctl", "print", service)) !== undefined;
    if (isLoaded && !isChanged) return;
    if (isLoaded) await tell(this.#env, "launchctl", "bootout", service);
    await tell(this.#env, "launchctl", "bootstrap", this.#domain, this.file);
  }

  async stop(): Promise<void> {
    await ask(this.#env, "launchctl", "bootout", `${this.#domain}/${LABEL}`);
    await rm(this.file, { force: true });
  }

  async status(): Promise<ServiceState> {
    const shown = await ask(this.#env, "launchctl", "print", `${this.#domain}/${LABEL}`);
    const [, state = "not loaded"] = /^\s*state = (.+)$/m.exec(shown ?? "") ?? [];
    const [, pid] = /^\s*pid = (\d+)$/m.exec(shown ?? "") ?? [];
    const log = join(homeOf(this.#env), "Library/Logs/trunkline.log");
    const lines = existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : [];
    return { state, ...(pid ? { pid: Number(pid) } : {}), lines: lines.slice(-LINES) };
  }

  async advice(): Promise<string | undefined> {
    return undefined;
  }
}

/** Writes the file of the service. Returns whether it has changed. */
export async function writeService(file: string, text: string): Promise<boolean> {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return false;
  await mkdir(dirname(file), { recursive: true });
  await replaceFile(file, text);
  return true;
}
