import type { Log } from "../../base/log.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";

/** Opens the place of keys: the system's keychain, or what stands in for it. Throws where there is none. */
export type OpenKeys = () => Promise<SecretStore>;

export interface StoredKeysOptions {
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
    // Whoever keeps keys in the environment needs none.
    log.warn("agent.keys-not-read", { error: (error as Error).message });
  }
  return found;
}
