import { setTimeout as delay } from "node:timers/promises";

import { Semaphore } from "../../base/limit/semaphore.ts";
import type { Log } from "../../base/log.ts";
import { usualVariables } from "../../base/process/environment.ts";
import type { Credentials } from "../../git/server/pin-connection.ts";
import type { CachedRepository } from "../repository-cache.ts";
import { buildLayer, type LayerBuilderOptions, SetupError } from "./build-layer.ts";
import {
  filesOf,
  type Layer,
  layerKey,
  type LayerName,
  type RevisionFiles,
  type SetupFailure,
} from "./layers.ts";
import {
  type Recipe,
  recipeFor,
  secretsFor,
  setupOf,
  type SetupSettings,
  workspaceFolder,
} from "./recipe.ts";

/** Milliseconds until a failed set-up is retried; doubled after each further failure. */
const FIRST_WAIT = 30_000;
const LONGEST_WAIT = 60 * 60_000;

/** Whether set-up may be tried again. A failure during the request's own wait counts for the request, too. */
function mayTry({ at, count }: SetupFailure, begun: number, retry: boolean): boolean {
  return at < begun && (retry || Date.now() >= at + waitAfter(count));
}

function waitAfter(count: number): number {
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (count - 1));
}

function wordsOnFailure({ title }: Recipe, why: string): string {
  return `The environment could not be set up (${title}): ${why}`;
}

function wordsOnNext({ at, count }: SetupFailure, log: string): string {
  const seconds = Math.max(0, Math.ceil((at + waitAfter(count) - Date.now()) / 1_000));
  const when = seconds > 120 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`;
  return `This session continues without it. New sessions retry after ${when}; \`trunkline run --retry-setup\` retries at once. The whole log is on the server: ${log}`;
}

function wordsOnEarlier(failure: SetupFailure, recipe: Recipe, log: string): string {
  const ago = Math.round((Date.now() - failure.at) / 1_000);
  return `${wordsOnFailure(recipe, failure.why)} (${ago} s ago). ${wordsOnNext(failure, log)}`;
}

interface EnvironmentsOptions extends LayerBuilderOptions {
  readonly settings: SetupSettings;
  /** Finds the value of a secret. */
  readonly findSecret: (name: string) => Promise<string | undefined>;
  /** Parses JSON with comments. Throws if it is invalid. */
  readonly parse: (path: string, text: string) => unknown;
  /** Identifies the system that results are built for. */
  readonly machine: string;
  readonly log: Log;
}

/** The configuration of set-up, and what the gateway provides for it. */
export interface RunSetup extends Pick<
  EnvironmentsOptions,
  "settings" | "openPlace" | "findSecret" | "parse" | "machine" | "maxLayer"
> {
  /** How many layers are kept for each repository. */
  readonly mostLayers: number;
}

/** A run's request for its environment. */
export interface EnvironmentRequest {
  /** The name of its workspace. */
  readonly workspace: string;
  readonly repository: CachedRepository;
  readonly credentials: Credentials;
  readonly revision: string;
  /** Whether to try even if set-up has failed recently. */
  readonly retry: boolean;
  readonly signal: AbortSignal;
  readonly tell: (message: string) => void;
  /** Called before set-up begins, which takes long. Throws if the run will fail anyway. */
  readonly check: () => Promise<void>;
}

/** A request with what was found out about it. */
interface WantedLayer extends EnvironmentRequest {
  readonly recipe: Recipe;
  readonly name: LayerName;
  readonly files: RevisionFiles;
  /** When it was asked for, in milliseconds since 1970. */
  readonly begun: number;
}

const LOOK_EVERY = 100;
const LARGEST_FILE = 1024 * 1024;
/** How many set-ups run at once; each may use as many resources as an agent. */
const AT_ONCE = 4;

/** Sets repositories up, once for all runs that can use the result. */
export class Environments {
  readonly #options: EnvironmentsOptions;
  readonly #slots = new Semaphore({ running: AT_ONCE });

  constructor(options: EnvironmentsOptions) {
    this.#options = options;
  }

  /**
   * The layer that a workspace begins with, or began with. Undefined if there is nothing to set up, or if
   * set-up failed: the session has been told, and continues without it.
   */
  async prepare(request: EnvironmentRequest): Promise<Layer | undefined> {
    const { log } = this.#options;
    let refusal: unknown;
    const check = (): Promise<void> =>
      request.check().catch((error: unknown) => {
        refusal = error;
        throw error;
      });
    try {
      return await this.#layerFor({ ...request, check });
    } catch (error) {
      request.signal.throwIfAborted();
      if (error === refusal) throw error;
      log.warn("run.setup-unknown", { url: request.repository.url, error });
      request.tell(`This session continues without its environment: ${messageOf(error)}`);
      return undefined;
    }
  }

  async #layerFor(request: EnvironmentRequest): Promise<Layer | undefined> {
    const { layers, driver, workspaces } = this.#options;
    const begun = await workspaces.layerOf(request.workspace);
    if (begun === undefined) return await this.#need(request);
    if (begun === null) return undefined;
    const layer = await layers.exactly(request.repository, begun);
    // A workspace that is a copy already contains the layer's files.
    return layer ?? (driver.name === "overlay" ? await this.#need(request) : undefined);
  }

  /** Finds a layer, waits for one that is being made, or makes it. */
  async #need(request: EnvironmentRequest): Promise<Layer | undefined> {
    const { layers } = this.#options;
    const wanted = await this.#want(request);
    if (wanted === undefined) return undefined;
    const { repository, name, recipe, tell, signal } = wanted;
    for (let looks = 0; ; looks++) {
      const known = await this.#known(wanted);
      if (known !== undefined) return known.layer;
      if (await layers.isBeingMade(repository, name)) {
        if (looks === 1)
          tell(`Waiting for another session that sets up the environment (${recipe.title}) …`);
        await delay(LOOK_EVERY, undefined, { signal }).catch(() => signal.throwIfAborted());
        continue;
      }
      using right = await layers.begin(repository, name);
      if (right === undefined) continue;
      // The previous holder of the lock may have finished in between.
      const since = await this.#known(wanted);
      if (since !== undefined) return since.layer;
      await request.check();
      return await this.#makeInTurn(wanted);
    }
  }

  /** The known result of set-up: a layer, or a failure that must not be retried yet. */
  async #known(wanted: WantedLayer): Promise<{ readonly layer: Layer | undefined } | undefined> {
    const { layers, log } = this.#options;
    const { repository, name, recipe, tell, begun, retry } = wanted;
    const layer = await this.#find(wanted);
    if (layer !== undefined) {
      log.info("run.setup-hit", { url: repository.url, layer: layer.id });
      return { layer };
    }
    const failure = await layers.failureOf(repository, name);
    if (failure === undefined || mayTry(failure, begun, retry)) return undefined;
    tell(wordsOnEarlier(failure, recipe, layers.logOf(repository, name)));
    return { layer };
  }

  async #want(request: EnvironmentRequest): Promise<WantedLayer | undefined> {
    const { settings, parse, machine } = this.#options;
    const { repository, revision } = request;
    const begun = Date.now();
    // Most repositories have no set-up, so this is checked before anything is read.
    const { repositories, from } = settings;
    if (from.length === 0 && setupOf(repository.url, repositories) === undefined) return undefined;
    const files = await filesOf(repository, revision);
    const read = (path: string): Promise<string> =>
      repository.git.text(["cat-file", "blob", `${revision}:${path}`], { maxOutput: LARGEST_FILE });
    const folder = workspaceFolder(repository.url);
    const has = (path: string): boolean => files.has(path);
    const source = { url: repository.url, folder, has, read, parse, variables: usualVariables() };
    const recipe = await recipeFor(source, settings);
    if (recipe === undefined) return undefined;
    const name = { key: layerKey(recipe, files, machine), revision };
    return { ...request, recipe, name, files, begun };
  }

  async #find({ repository, name, files, credentials }: WantedLayer): Promise<Layer | undefined> {
    const { layers } = this.#options;
    const found = await layers.find(repository, name, files);
    if (found !== undefined) return found;
    const isKnown =
      (await repository.shallow()) === "" || !(await layers.hasAlike(repository, name));
    if (isKnown) return undefined;
    // Without its history, the ancestors of the revision are unknown. Fetching it is cheaper than set-up.
    await repository.fill(credentials);
    return await layers.find(repository, name, files);
  }

  async #makeInTurn(wanted: WantedLayer): Promise<Layer | undefined> {
    if (!this.#slots.isFree()) {
      wanted.tell("Waiting for a free slot: other environments are being set up …");
    }
    return await this.#slots.run(() => this.#make(wanted), { signal: wanted.signal });
  }

  async #make(wanted: WantedLayer): Promise<Layer | undefined> {
    const { layers, log } = this.#options;
    const { repository, name, recipe, tell, signal } = wanted;
    const { url } = repository;
    tell(`Setting up the environment (${recipe.title}) …`);
    for (const note of recipe.notes) tell(note);
    const path = layers.logOf(repository, name);
    const begun = performance.now();
    const seconds = (): string => `${((performance.now() - begun) / 1_000).toFixed(1)} s`;
    try {
      const secrets = await secretsFor(recipe, this.#options.findSecret);
      const layer = await buildLayer(this.#options, { ...wanted, secrets });
      log.info("run.setup-miss", { url, layer: layer.id, seconds: seconds() });
      tell(`The environment is set up (${recipe.title}): ${seconds()}.`);
      return layer;
    } catch (error) {
      signal.throwIfAborted();
      const why = messageOf(error);
      const failure = await layers.failed(repository, name, why);
      log.warn("run.setup-failed", { url, why, log: path, count: failure.count });
      const lines = error instanceof SetupError ? error.lines : [];
      const end = lines.length === 0 ? "" : `Its last lines:\n${lines.join("\n")}\n`;
      const words = `${wordsOnFailure(recipe, why)} (${seconds()}).`;
      tell(`${words} ${end}${wordsOnNext(failure, path)}`);
      return undefined;
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
