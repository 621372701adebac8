import type { Log } from "../../base/log.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";

/** Opens the place of keys: the system's keychain, or what stands in for it. Throws where there is none. */
export type OpenKeys = () => Promise<SecretStore>;

export interface KeychainOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  readonly open?: OpenKeys | undefined;
}

/** A key is kept under the name that its variable would have. */
export function keyName(variable: string): SecretName {
  return { service: "trunkline", account: variable };
}

/** The keys of models that the system's keychain has, by the names of their variables. */
export async function keysInKeychain(
  variables: readonly string[],
  { env, log, open }: KeychainOptions,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const isWithout = open === undefined && env.TRUNKLINE_TOKEN_STORE === "file";
  if (variables.length === 0 || isWithout) return found;
  try {
    const keychain = await (open ?? openKeychain)();
    for (const variable of variables) {
      const key = await keychain.get(keyName(variable));
      if (key !== undefined && key !== "") found.set(variable, key);
    }
  } catch (error) {
    // Most servers have none, and whoever keeps keys in the environment needs none.
    log.debug("agent.no-keychain", { error: (error as Error).message });
  }
  return found;
}

/** The system's keychain. Throws "unavailable" where there is none. */
export async function openKeychain(): Promise<SecretStore> {
  const { Keychain } = await import("../../store/secret/keychain.ts");
  return Keychain.open();
}
