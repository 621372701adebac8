import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { Log } from "../../src/base/log.ts";
import { OwnedChild } from "../../src/base/process/child-process.ts";
import {
  type EnvironmentRequest,
  type Environments,
  openEnvironments,
} from "../../src/run/environment/environments.ts";
import { Layers } from "../../src/run/environment/layers.ts";
import type { RepositorySetup } from "../../src/run/environment/recipe.ts";
import { type CachedRepository, RepositoryCache } from "../../src/run/repository-cache.ts";
import { WorkspaceBases } from "../../src/run/workspace/bases.ts";
import { CopyDriver } from "../../src/run/workspace/copy.ts";
import type { WorkspaceDriver } from "../../src/run/workspace/driver.ts";
import { type Workspace, Workspaces } from "../../src/run/workspace/workspace.ts";
import { NO_CREDENTIALS } from "../samples/sample-credentials.ts";
import { ServerRepository } from "./server-repository.ts";

const COMMON = { askpass: "/bin/false", protocols: ["file"] };

/** A repository that ignores `deps` and `*.log`, with any set-up. */
export class EnvironmentRig implements AsyncDisposable {
  readonly sample = new ServerRepository();
  readonly told: string[] = [];
  readonly cached: CachedRepository;
  readonly layers: Layers;
  readonly #driver: WorkspaceDriver & Partial<AsyncDisposable>;
  readonly workspaces: Workspaces;
  readonly #open: Workspace[] = [];

  constructor(driver: WorkspaceDriver = new CopyDriver("copy"), most = 4) {
    this.sample.write(".gitignore", "deps\n*.log\n");
    this.sample.write("package-lock.json", "1");
    const { folder, url } = this.sample;
    const report = (): void => {};
    const cache = new RepositoryCache({ ...COMMON, report, folder: join(folder, "cache") });
    this.cached = cache.at(url, NO_CREDENTIALS);
    this.layers = new Layers({ folder: join(folder, "layers"), most });
    const bases = new WorkspaceBases({ folder: join(folder, "bases"), most: 2 });
    const work = { folder: join(folder, "work"), layers: this.layers, bases, driver };
    this.workspaces = new Workspaces({ ...COMMON, ...work });
    this.#driver = driver;
  }

  /** Commits the files of the clone, and fetches the commit into the cache. */
  async commit(): Promise<string> {
    const revision = this.sample.commit("More");
    this.sample.run("push", "--quiet", "--force", "origin", `HEAD:refs/heads/b${revision}`);
    await this.cached.need({ url: this.sample.url, branch: "", revision }, NO_CREDENTIALS);
    return revision;
  }

  environments(setup: RepositorySetup, secrets: Record<string, string> = {}): Environments {
    const { layers, workspaces } = this;
    return openEnvironments({
      settings: { repositories: { "*": setup }, from: ["script", "devcontainer"] },
      layers,
      workspaces,
      driver: this.#driver,
      // Without a sandbox, which would make every command slower; e2e tests run set-up in a sandbox.
      openPlace: async ({ workspace, home, env, secrets: known }) => ({
        start: (command) =>
          OwnedChild.start({
            command: "/bin/sh",
            args: ["-c", 'exec "$@" 2>&1', "sh", ...command],
            cwd: workspace.tree,
            env: { PATH: process.env.PATH, HOME: home, ...env, ...known },
          }),
        [Symbol.asyncDispose]: async () => {},
      }),
      findSecret: async (name) => secrets[name],
      maxLayer: 1 << 20,
      parse: (_, text) => JSON.parse(text) as unknown,
      machine: "this one",
      log: new Log("error"),
    });
  }

  async prepare(
    environments: Environments,
    revision: string,
    more: Partial<EnvironmentRequest> = {},
  ) {
    return await environments.prepare({
      workspace: "none",
      repository: this.cached,
      credentials: NO_CREDENTIALS,
      revision,
      retry: false,
      signal: new AbortController().signal,
      tell: (message) => this.told.push(message),
      check: async () => {},
      ...more,
    });
  }

  /** Opens the workspace of a session. */
  async open(
    session: string,
    revision: string,
    layer: Awaited<ReturnType<EnvironmentRig["prepare"]>>,
  ) {
    const workspace = await this.workspaces.open({
      session,
      repository: this.cached,
      revision,
      branch: "agent/x",
      owner: undefined,
      layer,
      keep: layer?.keep,
    });
    this.#open.push(workspace);
    return workspace;
  }

  /** Names in the folder of layers. */
  get kept(): string[] {
    const folder = join(this.sample.folder, "layers", this.cached.key);
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  get said(): string {
    return this.told.join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const workspace of this.#open) await workspace.close();
    await this.#driver[Symbol.asyncDispose]?.();
    this.sample[Symbol.dispose]();
  }
}
