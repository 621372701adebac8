import { TrunklineError } from "../../base/errors.ts";
import type { Manifest, Plugin } from "./definition.ts";
import type { PluginParts } from "./parts.ts";

/** What `definePlugin` returns. */
export class DefinedPlugin implements Plugin {
  readonly #parts: PluginParts;
  #isSeen = false;
  #isTaken = false;

  constructor(parts: PluginParts) {
    this.#parts = parts;
  }

  get id(): string {
    return this.#parts.manifest.id;
  }

  get manifest(): Manifest {
    this.#isSeen = true;
    return this.#parts.manifest;
  }

  /** Whether it is run or tested. */
  static isTaken(plugin: DefinedPlugin): boolean {
    return plugin.#isTaken;
  }

  /** Whether the program has used it: run it, tested it, or read its manifest. */
  static isUsed(plugin: DefinedPlugin): boolean {
    return plugin.#isTaken || plugin.#isSeen;
  }

  /** Takes a plugin to run or test it. */
  static take(plugin: Plugin): PluginParts {
    if (typeof plugin !== "object" || plugin === null || !(#parts in plugin)) {
      const what = "This is not a plugin of this copy of trunkline. Create one with definePlugin";
      throw new TrunklineError("usage", what);
    }
    plugin.#isTaken = true;
    return plugin.#parts;
  }
}
