import type { ResourceProvider } from "../tool.ts";
import type { Resources } from "./resources.ts";

/** The resources of servers that are opened when somebody asks for one. */
export class LazyResources implements ResourceProvider {
  readonly #open: () => Promise<void>;
  readonly #remove: () => void;
  readonly #watched = new Set<string>();
  #real: ResourceProvider | undefined;

  constructor(open: () => Promise<void>, resources: Resources) {
    this.#open = open;
    this.#remove = resources.add(this);
  }

  /** Returns how to take it out again. */
  become(real: ResourceProvider): () => void {
    this.#real = real;
    return this.#remove;
  }

  readonly list: ResourceProvider["list"] = async () => {
    await this.#open();
    return this.#real?.list() ?? [];
  };

  readonly templates: NonNullable<ResourceProvider["templates"]> = async () => {
    await this.#open();
    return this.#real?.templates?.() ?? [];
  };

  readonly read: ResourceProvider["read"] = async (uri, context) => {
    await this.#open();
    return this.#real?.read(uri, context);
  };

  readonly complete: NonNullable<ResourceProvider["complete"]> = async (uri, argument) => {
    await this.#open();
    return this.#real?.complete?.(uri, argument);
  };

  readonly serverOf: NonNullable<ResourceProvider["serverOf"]> = async (uri) => {
    await this.#open();
    return this.#real?.serverOf?.(uri);
  };

  watch(uri: string): void {
    this.#watched.add(uri);
    const watch = (): void => {
      if (this.#watched.has(uri)) this.#real?.watch?.(uri);
    };
    // Reading the resource fails with the reason.
    this.#open().then(watch, () => {});
  }

  unwatch(uri: string): void {
    this.#watched.delete(uri);
    this.#real?.unwatch?.(uri);
  }
}
