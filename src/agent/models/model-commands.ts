import {
  keyName,
  ModelCache,
  type ModelEntry,
  Models,
  type SecretStoreOpener,
  storedKeys,
} from "./models.ts";
import { keyVariables } from "./provider.ts";
import type { ModelSettings } from "../../config/schema/schema.gen.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { SecretStore } from "../../store/secret/secret-store.ts";

/** A model as people see it. */
export type ShownModel = Pick<ModelEntry, "id" | "name" | "contextWindow"> & {
  /** Sessions begin with it. */
  readonly isDefault: boolean;
  /** It listens on a usual port of this machine, and is used only where it is chosen. */
  readonly isFound: boolean;
};

export interface ConfiguredModelsOptions {
  readonly settings: ModelSettings;
  /** Names of further secrets that may be stored: those of MCP servers, and for set-up of remote runs. */
  readonly secrets?: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  readonly open: SecretStoreOpener;
  /** The file with the lists of last time. */
  readonly cacheFile?: string;
}

/** The models of a configuration, with the keys of the environment and those that are stored. */
export function configuredModels(options: ConfiguredModelsOptions): Models {
  const { settings, env, log, open, cacheFile } = options;
  return new Models({
    ...(cacheFile === undefined ? {} : { cache: new ModelCache(cacheFile) }),
    find: (variable) => env[variable] || undefined,
    findLater: (variables) => storedKeys(variables, { log, open }),
    settings,
    log,
  });
}

/** What a person does with models. */
export class ModelCommands {
  readonly #options: ConfiguredModelsOptions;

  constructor(options: ConfiguredModelsOptions) {
    this.#options = options;
  }

  /** Asks all providers, and says why some did not answer. */
  async list(): Promise<{
    readonly models: readonly ShownModel[];
    readonly unanswered: Readonly<Record<string, string>>;
  }> {
    const models = configuredModels(this.#options);
    await models.refresh();
    const first = models.first();
    const shown = models.list().map(({ id, name, contextWindow, isFound = false }) => {
      return { id, name, contextWindow, isDefault: id === first.id, isFound };
    });
    return { models: shown, unanswered: Object.fromEntries(models.failures) };
  }

  /** Keeps a key in the keychain. Returns where, in words. */
  async saveKey(variable: string, typed: string): Promise<string> {
    this.#check(variable);
    const key = typed.trim();
    if (key === "" || /\s/.test(key)) {
      const why = key === "" ? "it is empty" : "a key is one word";
      throw new TrunklineError("usage", `Cannot keep that as ${variable}: ${why}.`);
    }
    const keychain = await this.#keychain(variable);
    await keychain.set(keyName(variable), key);
    return keychain.describe;
  }

  /** Whether there was one. */
  async clearKey(variable: string): Promise<boolean> {
    this.#check(variable);
    const keychain = await this.#keychain(variable);
    return keychain.remove(keyName(variable));
  }

  #check(variable: string): void {
    const { settings, secrets = [] } = this.#options;
    const known = [...keyVariables(settings), ...secrets];
    if (known.includes(variable)) return;
    const says = `No key of a provider, nor a secret of an MCP server or for set-up, is called '${variable}'. There are: ${known.join(", ")}.`;
    throw new TrunklineError("not-found", says);
  }

  async #keychain(variable: string): Promise<SecretStore> {
    try {
      return await this.#options.open();
    } catch (error) {
      const { message } = error as Error;
      const says = `${message}. Set ${variable} in the environment instead.`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
  }
}
