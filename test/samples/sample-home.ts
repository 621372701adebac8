import { mkdtemp, mkdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import type { ConfigFlags, LoadedConfig } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";

/** A home folder of its own for a test, with a project in it. */
export class SampleHome implements AsyncDisposable {
  readonly path: string;
  readonly project: string;
  readonly userFile: string;
  readonly projectFile: string;

  private constructor(path: string) {
    this.path = path;
    this.project = join(path, "project");
    this.userFile = join(path, ".config/trunkline/config.jsonc");
    this.projectFile = join(this.project, ".trunkline.jsonc");
  }

  static async create(): Promise<SampleHome> {
    const home = new SampleHome(await realpath(await mkdtemp(join(tmpdir(), "trunkline-home-"))));
    await mkdir(join(home.project, ".git"), { recursive: true });
    return home;
  }

  /** One that another process has made, and removes. */
  static at(path: string): SampleHome {
    return new SampleHome(path);
  }

  get data(): string {
    return join(this.path, ".local/state/trunkline");
  }

  async write(path: string, text: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  /** Loads as a program that is started in the project. */
  load(
    options: {
      env?: NodeJS.ProcessEnv;
      flags?: ConfigFlags;
      cwd?: string;
      isStrict?: boolean;
    } = {},
  ): Promise<LoadedConfig> {
    const { cwd = this.project, flags = {}, isStrict = false } = options;
    const strict = isStrict ? { strict: () => [] } : {};
    return loadConfig({ cwd, env: { HOME: this.path, ...options.env }, flags, ...strict });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
