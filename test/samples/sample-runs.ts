import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Log } from "../../src/base/log.ts";
import { DENIED_NAMES } from "../../src/run/change/scan.ts";
import { type Runs, runsIn, type RunsOptions } from "../../src/run/runs.ts";
import { CopyDriver } from "../../src/run/workspace/copy.ts";
import { plainGit, writeRemote } from "../support/stored-folder.ts";

const ADA = { name: "Ada", email: "ada@example.com" };

/** Remote runs, without a sandbox, and a repository with one commit. */
export class SampleRuns implements AsyncDisposable {
  readonly folder: string;
  /** The bare repository. */
  readonly remote: string;
  readonly revision: string;
  readonly runs: Runs;

  private constructor(folder: string, remote: string, revision: string, runs: Runs) {
    this.folder = folder;
    this.remote = remote;
    this.revision = revision;
    this.runs = runs;
  }

  static async open(options: Partial<RunsOptions> = {}): Promise<SampleRuns> {
    const folder = await mkdtemp(join(tmpdir(), "runs-"));
    const remote = join(folder, "remote.git");
    const revision = writeRemote(folder);
    const runs = await openRuns(join(folder, "run"), options);
    return new SampleRuns(folder, remote, revision, runs);
  }

  /** Another machine on the same repository. */
  another(options: Partial<RunsOptions>, name: string): Promise<Runs> {
    return openRuns(join(this.folder, name), options);
  }

  get meta(): object {
    const { remote: url, revision } = this;
    return { remote: { url: `file://${url}`, branch: "main", revision } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runs[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function openRuns(folder: string, options: Partial<RunsOptions>): Promise<Runs> {
  return runsIn({
    folder,
    driver: new CopyDriver("copy"),
    policy: { allowHosts: [], allowPrivate: true, protocols: ["file"] },
    scan: { maxFile: 1 << 20, maxTotal: 1 << 22, maxFiles: 100, denied: DENIED_NAMES },
    turns: { running: 1, runningEach: 1, waitingEach: 5 },
    mostBases: 2,
    hibernateAfter: 60_000,
    identify: async () => ({ credentials: { scope: "" }, author: ADA }),
    coAuthor: { name: "Bob", email: "bob@example.com" },
    pushAgain: { firstWait: 20, longestWait: 20, mostFailures: 1000, rest: 20 },
    log: new Log("error"),
    ...options,
  });
}

/** Runs git without anybody's configuration. */
export const git = plainGit;
