import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { screenPicture } from "./screen-picture.ts";
import { until } from "./until.ts";

export interface TmuxOptions {
  /** The words of the program that runs in the terminal. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

/** Why tests in a terminal cannot be run here. */
export function withoutTmux(): string | undefined {
  const isThere = spawnSync("tmux", ["-V"]).status === 0;
  return isThere ? undefined : "needs tmux: install the package tmux";
}

/** A real pseudo-terminal with a program in it: keys go in, the screen comes out. */
export class Tmux implements AsyncDisposable {
  readonly #socket = `trunkline-${process.pid}-${Math.random().toString(36).slice(2)}`;

  constructor({ command, cwd, env = {}, columns = 80, rows = 24 }: TmuxOptions) {
    const { PATH = "" } = process.env;
    const all = { PATH, TERM: "tmux-256color", LANG: "C.UTF-8", ...env };
    const variables = Object.entries(all).map(([name, value]) => `${name}=${value}`);
    const size = ["-x", String(columns), "-y", String(rows)];
    this.#tmux(
      ...["-f", "/dev/null", "start-server", ";"],
      // The screen stays when the program has ended.
      ...["set-option", "-g", "remain-on-exit", "on", ";"],
      ...["set-option", "-g", "history-limit", "10000", ";"],
      ...[
        "new-session",
        "-d",
        "-s",
        "t",
        ...size,
        "-c",
        cwd,
        "env",
        "-i",
        ...variables,
        ...command,
      ],
    );
  }

  /** Presses keys by tmux's names for them, all at once. */
  press(...keys: string[]): void {
    this.#tmux("send-keys", "-t", "t", ...keys);
  }

  type(text: string): void {
    this.#tmux("send-keys", "-t", "t", "-l", "--", text);
  }

  /** Types a text and sends it. */
  enter(text: string): void {
    this.type(text);
    this.press("Enter");
  }

  /** Pastes, with the marks of a paste where the program has asked for them. */
  paste(text: string): void {
    this.#tmux("set-buffer", "--", text, ";", "paste-buffer", "-p", "-t", "t");
  }

  resize(columns: number, rows: number): void {
    this.#tmux("resize-window", "-t", "t", "-x", String(columns), "-y", String(rows));
  }

  /** What is on the screen, without space at the end of its lines. */
  get screen(): string {
    return this.#tmux("capture-pane", "-p", "-t", "t");
  }

  /** The same with what has scrolled away. */
  get scrollback(): string {
    return this.#tmux("capture-pane", "-p", "-S", "-", "-t", "t");
  }

  /** The screen with its colours, as escape sequences that begin with `ESC`. */
  get colored(): string {
    return this.#tmux("capture-pane", "-e", "-p", "-t", "t").replaceAll("\x1b", "ESC");
  }

  /** Writes a picture of the screen for the documents, if `TRUNKLINE_SCREENSHOTS` names a folder. */
  picture(name: string): void {
    const { TRUNKLINE_SCREENSHOTS: folder } = process.env;
    if (folder === undefined || folder === "") return;
    writeFileSync(join(folder, `${name}.svg`), screenPicture(this.colored));
  }

  /** Waits until the screen shows something. */
  async shows(...what: readonly RegExp[]): Promise<string> {
    let screen = "";
    const isShown = (): boolean => {
      screen = this.screen;
      return what.every((each) => each.test(screen));
    };
    try {
      await until(isShown);
    } catch (error) {
      throw new Error(`The terminal does not show ${what.join(" and ")}:\n${screen}`, {
        cause: error,
      });
    }
    return screen;
  }

  /** Waits until the program has ended. Resolves to its exit code. */
  async ended(): Promise<number> {
    const state = (): string =>
      this.#tmux("display", "-p", "-t", "t", "#{pane_dead} #{pane_dead_status}");
    await until(() => state().startsWith("1"));
    return Number(state().slice(2));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = Number(this.#tmux("display", "-p", "-t", "t", "#{pane_pid}"));
    this.#tmux("kill-server");
    // The program is told by the end of its terminal, and has some time to end what it started.
    await until(() => !isAlive(pid));
  }

  #tmux(...args: string[]): string {
    const options = {
      encoding: "utf8",
      env: { ...process.env, TMUX: "", TMUX_TMPDIR: "/tmp" },
    } as const;
    return execFileSync("tmux", ["-L", this.#socket, ...args], options).replaceAll(/ +$/gm, "");
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
