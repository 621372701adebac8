import type {
  ResourceDefinition,
  ResourceProvider,
  ResourceResult,
  ResourceTemplateDefinition,
} from "./resource.ts";
import type { ToolContext } from "./tool.ts";

/** Everything that can be read, whoever provides it, and who watches what. */
export class Resources {
  readonly #providers = new Set<ResourceProvider>();
  readonly #listListeners = new Set<() => void>();
  readonly #watchers = new Map<string, Set<() => void>>();

  add(provider: ResourceProvider): () => void {
    this.#providers.add(provider);
    this.changed();
    return () => {
      this.#providers.delete(provider);
      this.changed();
    };
  }

  async list(): Promise<ResourceDefinition[]> {
    const lists = await Promise.all(Array.from(this.#providers, (provider) => provider.list()));
    return lists.flat();
  }

  async templates(): Promise<ResourceTemplateDefinition[]> {
    const lists = await Promise.all(
      Array.from(this.#providers, (each) => each.templates?.() ?? []),
    );
    return lists.flat();
  }

  /** Undefined when nobody knows the URI. */
  async read(uri: string, context: ToolContext): Promise<ResourceResult | undefined> {
    for (const provider of this.#providers) {
      const result = await provider.read(uri, context);
      if (result !== undefined) return result;
    }
    return undefined;
  }

  get providers(): Iterable<ResourceProvider> {
    return this.#providers;
  }

  /** For providers: which resources there are has changed. */
  changed(): void {
    for (const listener of this.#listListeners) listener();
  }

  /** For providers: what the resource says has changed. */
  updated(uri: string): void {
    for (const listener of this.#watchers.get(uri) ?? []) listener();
  }

  onChange(listener: () => void): () => void {
    this.#listListeners.add(listener);
    return () => this.#listListeners.delete(listener);
  }

  /** Calls back when the resource is updated. Providers hear of the first watcher and the last. */
  watch(uri: string, listener: () => void): () => void {
    let watchers = this.#watchers.get(uri);
    if (watchers === undefined) {
      watchers = new Set();
      this.#watchers.set(uri, watchers);
      for (const provider of this.#providers) provider.watch?.(uri);
    }
    watchers.add(listener);
    return () => {
      if (!watchers.delete(listener) || watchers.size > 0) return;
      this.#watchers.delete(uri);
      for (const provider of this.#providers) provider.unwatch?.(uri);
    };
  }
}
