import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { ReviewCommands } from "../../src/review/review-commands.ts";
import { runFromShell } from "../support/run-from-shell.ts";
import { initRepository } from "../support/stored-folder.ts";

/** A repository for tests, in a folder whose name is hard on programs, and reviews of it. */
export class SampleRepository implements Disposable {
  readonly parent = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-review-")));
  readonly root = join(this.parent, "ein Répo 'x'");
  readonly data = join(this.parent, "data");

  constructor() {
    initRepository(this.root);
  }

  git(...args: string[]): string {
    return this.gitIn(this.root, ...args);
  }

  gitIn(folder: string, ...args: string[]): string {
    const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    const more = [
      "-c",
      "protocol.file.allow=always",
      "-c",
      "commit.gpgsign=false",
      "-c",
      "maintenance.auto=false",
    ];
    return runFromShell("git", [...identity, ...more, ...args], { cwd: folder }).trim();
  }

  /** Runs git with an input. */
  gitWith(input: string, ...args: string[]): string {
    return runFromShell("git", args, { cwd: this.root, input });
  }

  write(path: string, content: string | Uint8Array): void {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }

  /** Commits all that there is. Gives the commit. */
  commit(): string {
    this.git("add", "--all");
    this.git("commit", "--quiet", "--allow-empty", "--message=x");
    return this.git("rev-parse", "HEAD");
  }

  commands(folder = this.root): Promise<ReviewCommands> {
    return ReviewCommands.open(this.data, folder);
  }

  [Symbol.dispose](): void {
    rmSync(this.parent, { recursive: true, force: true });
  }
}

/** Lines that differ from each other. */
export function sampleLines(count: number, word = "line"): string {
  return Array.from({ length: count }, (_, n) => `${word} number ${n + 1} of this file\n`).join("");
}
