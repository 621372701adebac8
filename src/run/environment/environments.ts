import { setTimeout as delay } from "node:timers/promises";

import { Slots } from "../../base/limit/slots.ts";
import type { Log } from "../../base/log.ts";
import { usualVariables } from "../../base/process/environment.ts";
import type { Stop } from "../../base/stop.ts";
import type { Credentials } from "../../git/server/credentials.ts";
import type { CachedRepository } from "../repository-cache.ts";
import type { FileOwner } from "../workspace/driver.ts";
import { buildLayer, type LayerBuilderOptions, SetupError } from "./build-layer.ts";
import { filesOf, layerKey, type RevisionFiles } from "./layer-key.ts";
import type { Layer, LayerName } from "./layers.ts";
import {
  type Recipe,
  recipeFor,
  secretsFor,
  setupOf,
  type SetupSettings,
  workspaceFolder,
} from "./recipe.ts";
import { mayTry, wordsOnEarlier, wordsOnFailure, wordsOnNext } from "./setup-failure.ts";

export interface EnvironmentsOptions extends LayerBuilderOptions {
  readonly settings: SetupSettings;
  /** Finds the value of a secret. */
  readonly findSecret: (name: string) => string | undefined;
  /** Parses JSON with comments. Throws where it is none. */
  readonly parse: (path: string, text: string) => unknown;
  /** What programs of the machine results are made for. */
  readonly machine: string;
  readonly log: Log;
}

/** What is configured, and what is had from elsewhere. */
export interface RunSetup extends Pick<
  EnvironmentsOptions,
  "settings" | "openPlace" | "findSecret" | "parse" | "machine"
> {
  /** Results of set-up that are kept of a repository. */
  readonly mostLayers: number;
  /** Ends and removes what a process that was killed has left of a place for set-up. */
  readonly removePlace: (name: string, owner: FileOwner | undefined) => Promise<void>;
}

/** The environment that a run wants. */
export interface EnvironmentRequest {
  /** The name of its workspace. */
  readonly workspace: string;
  readonly repository: CachedRepository;
  readonly credentials: Credentials;
  readonly revision: string;
  /** Whether a failure of earlier is no reason not to try. */
  readonly retry: boolean;
  readonly stop: Stop;
  readonly tell: (message: string) => void;
  /** Called before set-up begins, which takes long: throws where it would be for nothing. */
  readonly check: () => Promise<void>;
}

/** What is known of a request. */
interface Wanted extends EnvironmentRequest {
  readonly recipe: Recipe;
  readonly name: LayerName;
  readonly files: RevisionFiles;
  /** When it was asked for, in milliseconds since 1970. */
  readonly begun: number;
}

const LOOK_EVERY = 100;
const LARGEST_FILE = 1024 * 1024;
/** How many are set up at the same time; each may use as much as an agent. */
const AT_ONCE = 4;
const MOST_FOUND = 500;

/** Sets repositories up, once for all runs that the result fits. */
export class Environments {
  readonly #options: EnvironmentsOptions;
  readonly #slots = new Slots(AT_ONCE);
  /** The layers that were found for revisions, by repository and revision. */
  readonly #found = new Map<string, string>();

  constructor(options: EnvironmentsOptions) {
    this.#options = options;
  }

  /**
   * The layer with what set-up leaves, for a workspace that begins with it or has begun with it.
   * Undefined where nothing is to be set up, and where that failed: whoever asked has been told, and
   * goes on without.
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
      request.stop.signal.throwIfAborted();
      if (error === refusal) throw error;
      log.warn("run.setup-unknown", { url: request.repository.url, error });
      request.tell(`The environment is not set up: ${messageOf(error)}`);
      return undefined;
    }
  }

  async #layerFor(request: EnvironmentRequest): Promise<Layer | undefined> {
    const { layers, driver, workspaces } = this.#options;
    const begun = await workspaces.layerOf(request.workspace);
    if (begun === undefined) return await this.#needQuickly(request);
    if (begun === null) return undefined;
    const layer = await layers.exactly(request.repository, begun);
    // A copy has its files already.
    return layer ?? (driver.name === "overlay" ? await this.#needQuickly(request) : undefined);
  }

  /** What was found for a revision once fits it again, without reading the revision. */
  async #needQuickly(request: EnvironmentRequest): Promise<Layer | undefined> {
    const { layers, log } = this.#options;
    const { repository, revision } = request;
    const key = `${repository.key} ${revision}`;
    const id = this.#found.get(key);
    const known = id === undefined ? undefined : await layers.exactly(repository, id);
    if (known !== undefined) {
      log.info("run.setup-hit", { url: repository.url, layer: known.id });
      return known;
    }
    const layer = await this.#need(request);
    if (layer === undefined) return undefined;
    this.#found.set(key, layer.id);
    const [oldest] = this.#found.keys();
    if (this.#found.size > MOST_FOUND && oldest !== undefined) this.#found.delete(oldest);
    return layer;
  }

  /** Finds a layer, or makes it now. */
  async #need(request: EnvironmentRequest): Promise<Layer | undefined> {
    const { layers } = this.#options;
    const wanted = await this.#want(request);
    if (wanted === undefined) return undefined;
    const { repository, name, recipe, tell, stop } = wanted;
    for (let looks = 0; ; looks++) {
      const known = await this.#known(wanted);
      if (known !== undefined) return known.layer;
      if (await layers.isBeingMade(repository, name)) {
        if (looks === 1) tell(`Another session sets the environment up (${recipe.title}) …`);
        const { signal } = stop;
        await delay(LOOK_EVERY, undefined, { signal }).catch(() => signal.throwIfAborted());
        continue;
      }
      using right = await layers.begin(repository, name);
      if (right === undefined) continue;
      // Whoever had the right before may have come to an end since.
      const since = await this.#known(wanted);
      if (since !== undefined) return since.layer;
      await request.check();
      return await this.#makeInTurn(wanted);
    }
  }

  /** What set-up has come to: a layer, or a failure that is not to be tried again yet. */
  async #known(wanted: Wanted): Promise<{ readonly layer: Layer | undefined } | undefined> {
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

  async #want(request: EnvironmentRequest): Promise<Wanted | undefined> {
    const { settings, parse, machine } = this.#options;
    const { repository, revision } = request;
    const begun = Date.now();
    // Mostly there is nothing to do, which then costs nothing.
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

  async #find({ repository, name, files, credentials }: Wanted): Promise<Layer | undefined> {
    const { layers } = this.#options;
    const found = await layers.find(repository, name, files);
    if (found !== undefined) return found;
    const isKnown =
      (await repository.shallow()) === "" || !(await layers.hasAlike(repository, name));
    if (isKnown) return undefined;
    // What a revision descends from is known with its history, which is cheaper than set-up.
    await repository.fill(credentials);
    return await layers.find(repository, name, files);
  }

  async #makeInTurn(wanted: Wanted): Promise<Layer | undefined> {
    const waits = this.#slots.take(wanted.stop);
    if (waits !== undefined) wanted.tell("Waiting until other environments are set up …");
    await waits;
    try {
      return await this.#make(wanted);
    } finally {
      this.#slots.leave();
    }
  }

  async #make(wanted: Wanted): Promise<Layer | undefined> {
    const { layers, log } = this.#options;
    const { repository, name, recipe, tell, stop } = wanted;
    const { url } = repository;
    tell(`Setting up the environment (${recipe.title}) …`);
    for (const note of recipe.notes) tell(note);
    const path = layers.logOf(repository, name);
    const begun = performance.now();
    const seconds = (): string => `${((performance.now() - begun) / 1_000).toFixed(1)} s`;
    try {
      const secrets = secretsFor(recipe, this.#options.findSecret);
      const layer = await buildLayer(this.#options, { ...wanted, secrets });
      log.info("run.setup-miss", { url, layer: layer.id, seconds: seconds() });
      tell(`The environment is set up (${recipe.title}): ${seconds()}.`);
      return layer;
    } catch (error) {
      stop.signal.throwIfAborted();
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
