import { readFile } from "node:fs/promises";

import type { LanguageModel } from "ai";

import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { glob } from "../../base/text/glob.ts";
import { maskText } from "../../base/text/mask.ts";
import { suggest } from "../../base/text/suggest.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { replaceFile } from "../../store/replace-file.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";
import { Announcement } from "../../tool/offer/registry.ts";
import { type ListedModel, listModels, USUAL_MODELS, windowOf } from "./list-models.ts";
import {
  type FindKey,
  keyVariables,
  type LocalPort,
  type ModelCost,
  type ModelSettings,
  openModel,
  type Provider,
  providersOf,
} from "./provider.ts";

/** A model that a session can choose. */
export interface ModelEntry {
  /** `provider/model`. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Tokens. */
  readonly contextWindow: number;
  /** Whether a request can say how much it should think. */
  readonly thinks?: boolean;
  /** Its price, if one is configured. */
  readonly cost?: ModelCost | undefined;
  /** Found on a local port, on which any program may listen. */
  readonly isFound?: boolean;
  /** Undefined for the offline entry. */
  readonly open?: () => Promise<LanguageModel>;
}

/** The models that sessions can choose from. */
export interface ModelSource {
  /** The models known now. */
  list(): readonly ModelEntry[];
  /** The default model. */
  first(): ModelEntry;
  /** Takes over the lists of last time. Whether there is a model among them that needs no search. */
  recall?(): Promise<boolean>;
  /** Asks the providers for their models, unless that was done recently. */
  refresh(): Promise<void>;
  /** Looks for keys again. One in the keychain is newer than one that this process was started with. */
  renewKeys?(): Promise<void>;
  onChange(listener: () => void): () => void;
  /** Why providers did not list their models, by provider. */
  readonly failures: ReadonlyMap<string, string>;
}

export const OFFLINE: ModelEntry = {
  id: "offline",
  name: "Offline (no LLM)",
  description: "No language model: runs slash commands, and nothing else",
  contextWindow: 0,
};

interface ModelsOptions {
  readonly find: FindKey;
  /** Finds keys in slow stores such as the keychain; called once, with the first refresh. */
  readonly findLater?: (variables: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly settings?: ModelSettings | undefined;
  readonly log: Log;
  /** Milliseconds for a provider to list its models. */
  readonly timeout?: number;
  /** Local ports to look for models on; by default the usual ones. */
  readonly ports?: readonly LocalPort[];
  /** The lists of last time. */
  readonly cache?: ModelCache;
}

const TIMEOUT = 10_000;
/** A local provider answers at once or is not running. */
const LOCAL_TIMEOUT = 1_000;
const FRESH = 300_000;

/** The models of all providers, as far as they have answered. */
export class Models implements ModelSource {
  #providers: readonly Provider[];
  readonly #listed = new Map<string, readonly ListedModel[]>();
  readonly failures = new Map<string, string>();
  readonly #changes = new Announcement();
  readonly #options: ModelsOptions;
  #refreshing: Promise<void> | undefined;
  #refreshedAt = -Infinity;
  #hasAllKeys = false;

  constructor(options: ModelsOptions) {
    this.#options = options;
    this.#providers = providersOf(options.find, options.settings, options.ports);
  }

  list(): readonly ModelEntry[] {
    const prices = Object.entries(this.#options.settings?.cost ?? {});
    const entries = this.#providers.flatMap((provider) => this.#entriesOf(provider));
    const priced = entries.map((each) => {
      const cost = prices.find(([pattern]) => glob(pattern)(each.id))?.[1];
      return cost === undefined ? each : { ...each, cost };
    });
    return [...priced, OFFLINE];
  }

  first(): ModelEntry {
    const all = this.list();
    const wanted = this.#options.settings?.default;
    // Any program may listen on a local port, so a found model is never the default.
    const named = all.filter(({ isFound }) => isFound !== true);
    return all.find(({ id }) => id === wanted) ?? named[0] ?? OFFLINE;
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  async recall(): Promise<boolean> {
    const lists = this.#listed.size > 0 ? {} : ((await this.#options.cache?.read()) ?? {});
    for (const provider of this.#providers) {
      const list = lists[cacheKey(provider)];
      if (list !== undefined && !this.#listed.has(provider.id)) this.#listed.set(provider.id, list);
    }
    return this.#providers.some(({ id, isLocal }) => isLocal !== true && this.#listed.has(id));
  }

  refresh(): Promise<void> {
    if (performance.now() - this.#refreshedAt < FRESH) return Promise.resolve();
    this.#refreshing ??= this.#askAll();
    return this.#refreshing;
  }

  async renewKeys(): Promise<void> {
    const { find, findLater, settings, ports } = this.#options;
    const keys = (await findLater?.(keyVariables(settings))) ?? new Map<string, string>();
    this.#providers = providersOf((name) => keys.get(name) ?? find(name), settings, ports);
    this.#changes.make();
  }

  async #askAll(): Promise<void> {
    const more = this.#findMore();
    await Promise.all([...this.#providers.map((each) => this.#ask(each)), more]);
    this.#refreshedAt = performance.now();
    this.#refreshing = undefined;
    const lists = this.#providers.flatMap((provider) => {
      const list = this.#listed.get(provider.id);
      return list === undefined ? [] : [[cacheKey(provider), list] as const];
    });
    if (lists.length > 0) await this.#options.cache?.save(Object.fromEntries(lists));
  }

  /** Finds more keys and asks their providers. */
  async #findMore(): Promise<void> {
    const { find, findLater, settings, ports } = this.#options;
    if (this.#hasAllKeys || findLater === undefined) return;
    this.#hasAllKeys = true;
    const missing = keyVariables(settings).filter((variable) => find(variable) === undefined);
    const keys = await findLater(missing);
    if (keys.size === 0) return;
    const before = new Set(this.#providers.map(({ key }) => key));
    const findAny: FindKey = (variable) => find(variable) ?? keys.get(variable);
    this.#providers = providersOf(findAny, settings, ports);
    this.#changes.make();
    await Promise.all(
      this.#providers.filter(({ key }) => !before.has(key)).map((each) => this.#ask(each)),
    );
  }

  async #ask(provider: Provider): Promise<void> {
    const { log, timeout = TIMEOUT } = this.#options;
    const wait = provider.isLocal === true ? Math.min(LOCAL_TIMEOUT, timeout) : timeout;
    const before = JSON.stringify(this.#listed.get(provider.id));
    try {
      const models = await listModels(provider, AbortSignal.timeout(wait));
      this.#listed.set(provider.id, inOrder(provider, models));
      this.failures.delete(provider.id);
    } catch (error) {
      if (provider.isLocal === true) this.#listed.delete(provider.id);
      else {
        this.failures.set(provider.id, why(error));
        log.warn("agent.models-unknown", { provider: provider.id, error: why(error) });
      }
    }
    if (JSON.stringify(this.#listed.get(provider.id)) !== before) this.#changes.make();
  }

  #entriesOf(provider: Provider): ModelEntry[] {
    const listed = this.#listed.get(provider.id);
    if (listed === undefined && provider.isLocal === true) return [];
    const entries = (listed ?? []).map(({ model, name, contextWindow }) => {
      return entry(provider, model, name, contextWindow);
    });
    const usual =
      listed === undefined ? [...this.#wantedOf(provider), ...USUAL_MODELS[provider.type]] : [];
    for (const model of [...(provider.models ?? []), ...usual]) {
      if (entries.some(({ id }) => id === `${provider.id}/${model}`)) continue;
      const window = provider.contextWindow ?? windowOf(model, provider.isLocal === true);
      entries.push(entry(provider, model, model, window));
    }
    return entries;
  }

  /** The configured default model is offered even if its provider does not list it. */
  #wantedOf({ id }: Provider): string[] {
    const wanted = this.#options.settings?.default ?? "";
    return wanted.startsWith(`${id}/`) ? [wanted.slice(id.length + 1)] : [];
  }
}

/** Finds a model. Throws with similar names if there is none. */
export function findModel(models: ModelSource, id: string): ModelEntry {
  const all = models.list();
  const found = all.find((each) => each.id === id);
  if (found !== undefined) return found;
  const ids = all.map((each) => each.id);
  const near = suggest(id, ids);
  const names = (near.length > 0 ? near : ids.slice(0, 10)).join(", ");
  const says = `Cannot use the model '${id.slice(0, 200)}': no such model. `;
  throw new TrunklineError(
    "not-found",
    `${says}${near.length > 0 ? "Near" : "There are"}: ${names}.`,
  );
}

function entry(provider: Provider, model: string, name: string, window: number): ModelEntry {
  return {
    id: `${provider.id}/${model}`,
    name: visibleLine(`${provider.name}: ${name}`),
    description: `${visibleLine(model)}, about ${Math.round(window / 1000)} thousand tokens of context`,
    contextWindow: window,
    ...(takesLevel(model) ? { thinks: true } : {}),
    ...(provider.isLocal === true ? { isFound: true } : {}),
    open: () => openModel(provider, model),
  };
}

/** Puts the preferred models first. */
function inOrder({ type, models = [] }: Provider, listed: readonly ListedModel[]): ListedModel[] {
  const wanted = [...models, ...USUAL_MODELS[type]];
  const rank = ({ model }: ListedModel): number => {
    const at = wanted.findIndex((name) => model === name || model.startsWith(`${name}-2`));
    return at < 0 ? wanted.length : at;
  };
  return listed.toSorted((a, b) => rank(a) - rank(b));
}

function why(error: unknown): string {
  const { message, cause } = error as Error;
  return maskText(cause instanceof Error ? `${message}: ${cause.message}` : message);
}

/** Opens the place of keys: the system's keychain, or what stands in for it. Throws where there is none. */
export type OpenKeys = () => Promise<SecretStore>;

interface StoredKeysOptions {
  readonly log: Log;
  readonly open: OpenKeys;
}

/** A key is kept under the name that its variable would have. */
export function keyName(variable: string): SecretName {
  return { service: "trunkline", account: variable };
}

/** A key that is stored; undefined if it is not. Throws where that cannot be found out. */
export async function storedKey(variable: string, open: OpenKeys): Promise<string | undefined> {
  return (await (await open()).get(keyName(variable))) || undefined;
}

/** The keys of models that are stored, by the names of their variables. */
export async function storedKeys(
  variables: readonly string[],
  { log, open }: StoredKeysOptions,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  if (variables.length === 0) return found;
  try {
    const store = await open();
    for (const variable of variables) {
      const key = await storedKey(variable, async () => store);
      if (key !== undefined) found.set(variable, key);
    }
  } catch (error) {
    // Keys in the environment work without the store.
    log.warn("agent.keys-not-read", { error: (error as Error).message });
  }
  return found;
}

/** How much a model thinks before it answers. */
export type ThinkingLevel = "default" | "low" | "medium" | "high";

export const THINKING_LEVELS: readonly { readonly id: ThinkingLevel; readonly name: string }[] = [
  { id: "default", name: "As the model does by default" },
  { id: "low", name: "Low" },
  { id: "medium", name: "Medium" },
  { id: "high", name: "High" },
];

/**
 * Models that take a level, by name: providers do not list it, and refuse a request with a level that
 * the model does not have.
 */
const THINKS =
  /(?:^|[/.:-])(?:o[134](?:-|$)|gpt-5(?!-chat)|gpt-oss|claude-(?:3-7|(?:opus|sonnet|haiku)-[4-9])|gemini-(?:2\.5|[3-9]))/i;

export function takesLevel(model: string): boolean {
  return THINKS.test(model);
}

export function thinkingLevel(value: unknown): ThinkingLevel | undefined {
  return THINKING_LEVELS.find(({ id }) => id === value)?.id;
}

type Lists = Readonly<Record<string, readonly ListedModel[]>>;

/** The lists of models that providers gave last time, so that a session need not wait for them. */
export class ModelCache {
  readonly #file: string;
  #saving: Promise<void> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
  }

  /** Empty where there is no list that can be read. */
  async read(): Promise<Lists> {
    try {
      const lists: unknown = JSON.parse(await readFile(this.#file, "utf8"));
      if (typeof lists !== "object" || lists === null) return {};
      return Object.fromEntries(
        Object.entries(lists).filter(([, list]) => Array.isArray(list) && list.every(isListed)),
      );
    } catch {
      return {};
    }
  }

  /** Writes one after the other, into a folder that is there. A failure costs only the next start its head start. */
  save(lists: Lists): Promise<void> {
    this.#saving = this.#saving
      .then(() => replaceFile(this.#file, JSON.stringify(lists)))
      .catch(() => {});
    return this.#saving;
  }
}

/** Another address under the same name has other models. */
function cacheKey({ id, baseUrl }: Provider): string {
  return `${id} ${baseUrl}`;
}

function isListed(value: unknown): value is ListedModel {
  const { model, name, contextWindow } = (value ?? {}) as Partial<ListedModel>;
  return typeof model === "string" && typeof name === "string" && Number(contextWindow) > 0;
}
