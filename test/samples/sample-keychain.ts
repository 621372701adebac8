import type { SecretName, SecretStore } from "../../src/store/secret/secret-store.ts";

/** A keychain in memory, for tests. */
export class SampleKeychain implements SecretStore {
  readonly kind = "keychain";
  readonly describe = "a keychain for tests";
  readonly secrets = new Map<string, string>();
  isClosedToWriting = false;

  async get({ service, account }: SecretName): Promise<string | undefined> {
    return this.secrets.get(`${service} ${account}`);
  }
  async set({ service, account }: SecretName, secret: string): Promise<void> {
    if (this.isClosedToWriting) throw new Error("no collection");
    this.secrets.set(`${service} ${account}`, secret);
  }
  async remove({ service, account }: SecretName): Promise<boolean> {
    return this.secrets.delete(`${service} ${account}`);
  }
}
