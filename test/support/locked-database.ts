import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** Another process that has begun to write to a file of SQLite's, and does not end. */
export class LockedDatabase implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async lock(...paths: readonly string[]): Promise<LockedDatabase> {
    const script = `
      const { DatabaseSync } = require("node:sqlite");
      for (const path of process.argv.slice(1)) {
        const database = new DatabaseSync(path, { timeout: 10_000 });
        database.exec("BEGIN EXCLUSIVE");
        (globalThis.open ??= []).push(database);
      }
      console.log("locked");
      process.stdin.resume().on("end", () => process.exit());`;
    const child = spawn(process.execPath, ["-e", script, ...paths], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    return new LockedDatabase(child);
  }

  /** Lets go of it. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.stdin?.end();
    await exit;
  }
}
