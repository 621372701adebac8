import { execFile, type ExecException } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, posix } from "node:path";
import { promisify } from "node:util";

import { TrunklineError } from "../../base/errors.ts";
import { homeOf } from "../../base/process/environment.ts";
import { selfCommand } from "../../base/process/self-command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { userFile } from "../../config/locations.ts";
import { runningGateways } from "../../store/access/running-gateways.ts";
import { replaceFile } from "../../store/replace-file.ts";
import type { Invocation, OptionValues } from "../../cli/shell/command.ts";
import { linesText, print, table } from "../../cli/shell/layout.ts";
import { openQuietApp } from "../../cli/shell/open-app.ts";
import { parsedJson } from "../../base/check.ts";

type ServiceValues = OptionValues<"host" | "port" | "config" | "data", "print">;

/** `trunkline service install` */
export async function install(invocation: Invocation<ServiceValues>): Promise<number> {
  const { values, out } = invocation;
  // Throws for a configuration that cannot be read: the service would stop again and again.
  const { config } = await openQuietApp(invocation);
  const manager = managerOf(process.platform, invocation.env);
  const words = wordsOf(invocation, config.data, manager?.file ?? "");
  if (manager === undefined) {
    // On Windows, only the user can create the task.
    out(`Run this once:\n${taskCommand(words)}\n`);
    return 0;
  }
  const text = manager.text(words);
  if (values.print === true) return print(invocation, { file: manager.file, text }, text);
  await manager.check();
  const isChanged = await writeService(manager.file, text);
  await manager.start(isChanged);
  const advice = await manager.advice();
  const lines = [
    `${isChanged ? "Installed" : "Already installed"}: ${visibleLine(manager.file)}`,
    "The gateway runs, and starts again at each login. `trunkline service status` shows it.",
  ];
  const done = { file: manager.file, changed: isChanged, advice };
  return print(invocation, done, linesText(lines), { notes: advice === undefined ? [] : [advice] });
}

/** `trunkline service remove` */
export async function remove(invocation: Invocation<ServiceValues>): Promise<number> {
  const { out } = invocation;
  const manager = managerOf(process.platform, invocation.env);
  if (manager === undefined) {
    out("Run: schtasks /Delete /TN Trunkline /F\n");
    return 0;
  }
  const isInstalled = existsSync(manager.file);
  await manager.stop();
  return print(
    invocation,
    { removed: isInstalled },
    isInstalled ? "Removed the service.\n" : "The service was not installed.\n",
  );
}

/** `trunkline service status`: 0 if it is installed and runs. */
export async function status(invocation: Invocation<ServiceValues>): Promise<number> {
  const { config } = await openQuietApp(invocation);
  const manager = managerOf(process.platform, invocation.env);
  if (manager === undefined) {
    invocation.out("Run: schtasks /Query /TN Trunkline\n");
    return 0;
  }
  const [gateway] = await runningGateways(config.data);
  const isInstalled = existsSync(manager.file);
  const found: ServiceState = isInstalled
    ? await reported(manager)
    : { state: "not installed", lines: [] };
  const isRunning = /^(?:active|running)/.test(found.state);
  const shown = { ...found, installed: isInstalled, url: gateway?.url, file: manager.file };
  const rows = [
    ["state", found.state],
    ["since", found.since ?? ""],
    ["process", String(found.pid ?? "")],
    ["address", gateway?.url ?? "no gateway of this data folder runs"],
    ["file", isInstalled ? manager.file : "`trunkline service install` creates it"],
  ];
  const lines = found.lines.length === 0 ? [] : ["", ...found.lines.map(visibleLine)];
  const text = table(rows.filter(([, value]) => value !== "")) + linesText(lines);
  return print(invocation, shown, text, { code: isRunning ? 0 : 1 });
}

/** What the service manager says; where it does not run, why. */
async function reported(manager: ServiceManager): Promise<ServiceState> {
  try {
    await manager.check();
    return await manager.status();
  } catch (error) {
    return { state: "unknown", lines: [(error as Error).message] };
  }
}

/** Undefined on Windows. */
function managerOf(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): ServiceManager | undefined {
  if (platform === "win32") return undefined;
  return platform === "darwin" ? launchd(env) : userSystemd(env);
}

function wordsOf(invocation: Invocation<ServiceValues>, data: string, file: string): ServiceWords {
  const { values, env, cwd } = invocation;
  const before = existsSync(file) ? keptOptions(readFileSync(file, "utf8")) : [];
  const kept = [
    ...option("--host", values.host, before),
    ...option("--port", portOf(values.port), before),
  ];
  const { path: config } = userFile({ cwd, env, flags: { config: values.config } });
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  return {
    command: [
      ...[...selfCommand(), "serve", ...kept, "--data", data],
      // At login, the variables that name it may not be set.
      ...(existsSync(config) ? ["--config", config] : []),
    ],
    path: [...new Set(folders)].join(delimiter),
    kept,
  };
}

/** An option as it is given now, or else as it was installed. */
function option(name: string, given: string | undefined, before: readonly string[]): string[] {
  const at = before.indexOf(name);
  const value = given ?? (at < 0 ? undefined : before[at + 1]);
  return value === undefined ? [] : [name, value];
}

function portOf(text: string | undefined): string | undefined {
  if (text === undefined || /^[1-9]\d{0,4}$/.test(text)) return text;
  const why = "a service needs the same port at each start: a number from 1 to 65535";
  throw new TrunklineError("usage", `Cannot use '${text}' for --port: ${why}.`);
}

/** What the service manager is told. */
interface ServiceWords {
  /** The program and its arguments, absolute. */
  readonly command: readonly string[];
  /** Folders of programs; all absolute. */
  readonly path: string;
  /** Options of `serve` that a later installation keeps. */
  readonly kept: readonly string[];
}

/** Name of the service at systemd, and of its file. */
export const UNIT = "trunkline.service";
/** Name of the service at launchd. */
const LABEL = "dev.trunkline.serve";
/** Name of the task on Windows. */
const TASK = "Trunkline";

/** systemd.unit(5): a setting whose name begins with `X-` is ours; systemd does not read it. */
const KEPT = "X-Trunkline-Options";

/**
 * A unit of the user's systemd. MemoryDenyWriteExecute would end Node, and what protects folders would
 * keep agents from the files that they are to edit.
 */
export function unitText({ command, path, kept }: ServiceWords): string {
  return `# Written by \`trunkline service install\`; it will be overwritten.
[Unit]
Description=Trunkline gateway
StartLimitIntervalSec=60
StartLimitBurst=5
${KEPT}=${JSON.stringify(kept)}

[Service]
Type=exec
ExecStart=${command.map(unitWord).join(" ")}
Environment=${unitWord(`PATH=${path}`)}
Restart=on-failure
RestartSec=1
# The gateway ends its agents itself, after it has saved their work.
KillMode=mixed
TimeoutStopSec=20
UMask=0077
OOMPolicy=continue
LockPersonality=yes
NoNewPrivileges=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes

[Install]
WantedBy=default.target
`;
}

/** systemd.syntax(7), systemd.service(5) § Command Lines: quotes, specifiers and variables. */
function unitWord(word: string): string {
  const plain = word
    .replaceAll("\\", "\\\\")
    .replaceAll('"', String.raw`\"`)
    .replaceAll("\n", String.raw`\n`)
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$");
  return `"${plain}"`;
}

/** The kept options of an installed unit or agent; none if it has none. */
export function keptOptions(text: string): string[] {
  const [, unit, plist] = /^X-Trunkline-Options=(.*)$|<!-- options (.*?) -->/m.exec(text) ?? [];
  const value = parsedJson(unit ?? plist ?? "[]");
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** launchd.plist(5): an agent of the user. It is started again if it fails. */
export function plistText({ command, path, kept }: ServiceWords, home: string): string {
  const log = posix.join(home, "Library/Logs/trunkline.log");
  const text = (value: string): string => `<string>${escapeXml(value)}</string>`;
  // A comment of XML must not contain two hyphens.
  const comment = JSON.stringify(kept).replaceAll("-", String.raw`\u002d`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- options ${comment} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  ${text(LABEL)}
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    ${text(word)}`).join("\n")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    ${text(path)}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardOutPath</key>
  ${text(log)}
  <key>StandardErrorPath</key>
  ${text(log)}
</dict>
</plist>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The command that creates a task which starts the gateway at each login, for Windows. */
export function taskCommand({ command }: Pick<ServiceWords, "command">): string {
  const line = command.map((word) => String.raw`\"${word}\"`).join(" ");
  return `schtasks /Create /TN ${TASK} /SC ONLOGON /RL LIMITED /F /TR "${line}"`;
}

interface ServiceState {
  /** As the service manager calls it: "active", "failed", "running", … */
  readonly state: string;
  readonly since?: string | undefined;
  readonly pid?: number;
  /** Its last messages, oldest first. */
  readonly lines: readonly string[];
}

/** The service manager of a system, for one user. */
interface ServiceManager {
  /** The file that tells it about us. */
  readonly file: string;
  text(words: ServiceWords): string;
  /** Throws "unavailable", with what to do, if it does not run here. */
  check(): Promise<unknown>;
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
  return (await tell(env, ...words).catch(() => undefined))?.trim();
}

/** The same, but a failure is thrown in words. */
async function tell(env: NodeJS.ProcessEnv, ...words: string[]): Promise<string> {
  const [command = "", ...args] = words;
  try {
    return (await promisify(execFile)(command, args, { env, timeout: TIMEOUT })).stdout;
  } catch (error) {
    const { stderr = "", message } = error as ExecException;
    const says = `'${words.join(" ")}' failed: ${String(stderr).trim() || message}`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
}

/** systemd, as it runs for each user who has logged in. */
function userSystemd(env: NodeJS.ProcessEnv): ServiceManager {
  const file = join(env.XDG_CONFIG_HOME ?? join(homeOf(env), ".config"), "systemd/user", UNIT);
  const ctl = (...args: string[]): Promise<string> => tell(env, "systemctl", "--user", ...args);

  async function check(): Promise<void> {
    const state = await ctl("show", "--property=Version").catch((error: unknown) => error);
    if (typeof state === "string") return;
    const why = "no systemd runs for your user here, as in most containers and after `su`";
    const next =
      "Log in over ssh or at a screen and try again, or have what supervises this machine run `trunkline serve`; `trunkline service install --print` shows a unit to start from";
    throw new TrunklineError("unavailable", `Cannot use a service: ${why}. ${next}.`, {
      cause: state,
    });
  }

  async function start(isChanged: boolean): Promise<void> {
    await ctl("daemon-reload");
    await ctl("enable", "--quiet", UNIT);
    await ctl(isChanged ? "restart" : "start", UNIT);
  }

  async function stop(): Promise<void> {
    // Fails where it was never enabled.
    await ctl("disable", "--quiet", "--now", UNIT).catch(() => {});
    await rm(file, { force: true });
    await ctl("daemon-reload").catch(() => {});
    await ctl("reset-failed", UNIT).catch(() => {});
  }

  async function status(): Promise<ServiceState> {
    const names = ["ActiveState", "SubState", "ActiveEnterTimestamp", "MainPID"];
    const shown = await ctl("show", UNIT, ...names.map((name) => `--property=${name}`));
    const values = new Map(
      shown.split("\n").map((line) => {
        const at = line.indexOf("=");
        return [line.slice(0, at), line.slice(at + 1)] as const;
      }),
    );
    const since = values.get("ActiveEnterTimestamp");
    const pid = Number(values.get("MainPID"));
    const logged = ["--user", "--unit", UNIT, "--lines", String(LINES), "--no-pager"];
    const lines = await ask(env, "journalctl", ...logged, "--output", "short-iso", "--quiet");
    return {
      state: `${values.get("ActiveState")} (${values.get("SubState")})`,
      ...(since ? { since } : {}),
      ...(pid > 0 ? { pid } : {}),
      lines: lines ? lines.split("\n") : [],
    };
  }

  /** systemd ends what it runs for a user when the last login ends, unless the user lingers. */
  async function advice(): Promise<string | undefined> {
    const user = env.USER ?? String(process.getuid?.() ?? "");
    const linger = await ask(env, "loginctl", "show-user", user, "--property=Linger");
    if (linger === "Linger=yes") return undefined;
    return "It ends when you log out. To let it run on: loginctl enable-linger";
  }

  return { file, text: unitText, check, start, stop, status, advice };
}

/** launchd of macOS, in the login of the user. */
function launchd(env: NodeJS.ProcessEnv): ServiceManager {
  const file = join(homeOf(env), "Library/LaunchAgents", `${LABEL}.plist`);
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const service = `${domain}/${LABEL}`;

  async function start(isChanged: boolean): Promise<void> {
    const isLoaded = (await ask(env, "launchctl", "print", service)) !== undefined;
    if (isLoaded && !isChanged) return;
    if (isLoaded) await tell(env, "launchctl", "bootout", service);
    await tell(env, "launchctl", "bootstrap", domain, file);
  }

  async function stop(): Promise<void> {
    await ask(env, "launchctl", "bootout", service);
    await rm(file, { force: true });
  }

  async function status(): Promise<ServiceState> {
    const shown = await ask(env, "launchctl", "print", service);
    const [, state = "not loaded"] = /^\s*state = (.+)$/m.exec(shown ?? "") ?? [];
    const [, pid] = /^\s*pid = (\d+)$/m.exec(shown ?? "") ?? [];
    const log = join(homeOf(env), "Library/Logs/trunkline.log");
    const lines = existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : [];
    return { state, ...(pid ? { pid: Number(pid) } : {}), lines: lines.slice(-LINES) };
  }

  return {
    ...{ file, start, stop, status },
    text: (words) => plistText(words, homeOf(env)),
    check: () => tell(env, "launchctl", "print", domain),
    advice: async () => undefined,
  };
}

/** Writes the file of the service. Returns whether it has changed. */
async function writeService(file: string, text: string): Promise<boolean> {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return false;
  await mkdir(dirname(file), { recursive: true });
  await replaceFile(file, text);
  return true;
}
