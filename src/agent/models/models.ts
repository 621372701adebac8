import type { LanguageModel } from "ai";

import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { maskText } from "../../base/text/mask.ts";
import { suggest } from "../../base/text/suggest.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { Announcement } from "../../tool/offer/registry.ts";
import { type ListedModel, listModels, USUAL_MODELS, windowOf } from "./list-models.ts";
import {
  type FindKey,
  keyVariables,
  type LocalPort,
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
  /** It was found on a port of this machine, where any program may listen. */
  readonly isFound?: boolean;
  /** Nothing where there is no model behind it. */
  readonly open?: () => Promise<LanguageModel>;
}

/** What sessions know of models. */
export interface ModelSource {
  /** Those that are known now, without waiting. */
  list(): readonly ModelEntry[];
  /** Which is used where nobody has chosen. */
  first(): ModelEntry;
  /** Asks the providers anew, unless that was done lately. */
  refresh(): Promise<void>;
  onChange(listener: () => void): () => void;
  /** Why providers have not said what they have, by their names. */
  readonly failures: ReadonlyMap<string, string>;
  /** Keys that must not be seen. */
  readonly secrets: readonly string[];
}

export const OFFLINE: ModelEntry = {
  id: "offline",
  name: "Offline (no LLM)",
  description: "No language model: does what the slash commands say, and nothing else",
  contextWindow: 0,
};

export interface ModelsOptions {
  readonly find: FindKey;
  /** Finds secrets where that takes a while; called once, when models are first asked for. */
  readonly findLater?: (variables: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly settings?: ModelSettings | undefined;
  readonly log: Log;
  /** Milliseconds that a provider has to list its models. */
  readonly timeout?: number;
  /** Ports of this machine to look for models on; the usual ones when left out. */
  readonly ports?: readonly LocalPort[];
}

const TIMEOUT = 10_000;
/** One on this machine answers at once, or is not there. */
const LOCAL_TIMEOUT = 1_000;
const FRESH = 300_000;

/** The models of all providers that there are, as far as they have answered. */
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

  get secrets(): readonly string[] {
    return this.#providers.flatMap(({ key }) => (key === undefined ? [] : [key]));
  }

  list(): readonly ModelEntry[] {
    return [...this.#providers.flatMap((provider) => this.#entriesOf(provider)), OFFLINE];
  }

  first(): ModelEntry {
    const all = this.list();
    const wanted = this.#options.settings?.default;
    // Whoever listens on a port first must not get to read what people say.
    const named = all.filter(({ isFound }) => isFound !== true);
    return all.find(({ id }) => id === wanted) ?? named[0] ?? OFFLINE;
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  refresh(): Promise<void> {
    if (performance.now() - this.#refreshedAt < FRESH) return Promise.resolve();
    this.#refreshing ??= this.#askAll();
    return this.#refreshing;
  }

  async #askAll(): Promise<void> {
    const more = this.#findMore();
    await Promise.all([...this.#providers.map((each) => this.#ask(each)), more]);
    this.#refreshedAt = performance.now();
    this.#refreshing = undefined;
  }

  /** Asks those, too, whose keys are not at hand. */
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

  /** What the configuration begins with is there, whether its provider has said so or not. */
  #wantedOf({ id }: Provider): string[] {
    const wanted = this.#options.settings?.default ?? "";
    return wanted.startsWith(`${id}/`) ? [wanted.slice(id.length + 1)] : [];
  }
}

/** Throws with the nearest names when there is no such model. */
export function findModel(models: ModelSource, id: string): ModelEntry {
  const all = models.list();
  const found = all.find((each) => each.id === id);
  if (found !== undefined) return found;
  const ids = all.map((each) => each.id);
  const near = suggest(id, ids);
  const names = (near.length > 0 ? near : ids.slice(0, 10)).join(", ");
  const says = `Cannot use the model '${id.slice(0, 200)}': there is none of that name. `;
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
    ...(provider.isLocal === true ? { isFound: true } : {}),
    open: () => openModel(provider, model),
  };
}

/** Those that suit this work first; the others as they came. */
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
