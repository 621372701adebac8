import { readFile } from "node:fs/promises";

import { replaceFile } from "../../store/replace-file.ts";
import type { ListedModel } from "./list-models.ts";
import type { Provider } from "./provider.ts";

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
export function cacheKey({ id, baseUrl }: Provider): string {
  return `${id} ${baseUrl}`;
}

function isListed(value: unknown): value is ListedModel {
  const { model, name, contextWindow } = (value ?? {}) as Partial<ListedModel>;
  return typeof model === "string" && typeof name === "string" && Number(contextWindow) > 0;
}
