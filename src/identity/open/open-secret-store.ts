import { join } from "node:path";

import type { SecretStore } from "../../store/secret/secret-store.ts";
import { userKeyFile } from "../../config/locations.ts";

export interface SecretStoreOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The encrypted file that is used where there is no keychain. */
  readonly file: string;
  /** The file with the key of that one, in another folder. */
  readonly keyFile: string;
}

/** The system's keychain, or an encrypted file where there is none. */
export async function openSecretStore(options: SecretStoreOptions): Promise<SecretStore> {
  const { env, file, keyFile } = options;
  const [{ chooseStore }, { EncryptedFile }] = await Promise.all([
    import("../tokens/tokens.ts"),
    import("../tokens/encrypted-file.ts"),
  ]);
  return (await chooseStore(new EncryptedFile(file, { env, keyFile }), env)).store;
}

/** Opens the place of keys of models and secrets of servers, as `trunkline model key set` stores them. */
export function openKeys(data: string, env: NodeJS.ProcessEnv): () => Promise<SecretStore> {
  return () => openSecretStore({ env, file: join(data, "keys.enc"), keyFile: userKeyFile(env) });
}
