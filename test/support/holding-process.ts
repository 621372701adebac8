import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

const MODULE = new URL("../../src/store/session/session-log.ts", import.meta.url).href;

/** Another process that has a session open, until it is killed. */
export class HoldingProcess implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(data: string, session: string): Promise<HoldingProcess> {
    const script = `
      const { SessionLog } = await import(${JSON.stringify(MODULE)});
      const log = await SessionLog.open(${JSON.stringify(data)});
      await log.hold(${JSON.stringify(session)});
      console.log("held");
      setInterval(() => log, 1000);`;
    const args = ["--input-type=module", "-e", script];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    return new HoldingProcess(child);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Kills it: it has no time to let go of anything. */
  async [Symbol.asyncDispose](): Promise<void> {
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }
}
