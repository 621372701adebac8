import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";

import { withLock } from "../../store/replace-file.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";
import { VapidKey } from "./push/vapid.ts";

export interface NotifySecretsOptions {
  readonly data: string;
  /** The user's configuration file. The key of the encrypted file is beside it, apart from the file. */
  readonly configFile: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}

const VAPID: SecretName = { service: "trunkline.notifications", account: "vapid" };
const WEBHOOK: SecretName = { service: "trunkline.notifications", account: "webhook" };
/** The form of the secret that Standard Webhooks specifies. */
const WEBHOOK_PREFIX = "whsec_";

/** The secrets of notifications: in the system's keychain, or in an encrypted file where there is none. */
export class NotifySecrets {
  readonly #options: NotifySecretsOptions;
  readonly #found = new Map<string, Promise<string>>();
  #store: Promise<SecretStore> | undefined;

  constructor(options: NotifySecretsOptions) {
    this.#options = options;
  }

  /** The key by which push services know this gateway. It is created with the first use. */
  async vapid(): Promise<VapidKey> {
    return new VapidKey(await this.#ensure(VAPID, () => VapidKey.create()));
  }

  /** The secret with which webhooks are signed. It is created with the first use. */
  webhook(): Promise<string> {
    return this.#ensure(WEBHOOK, newWebhookSecret);
  }

  /** Replaces the secret of webhooks. Running servers use the old one until they are restarted. */
  async rotateWebhook(): Promise<string> {
    const secret = newWebhookSecret();
    await (await this.#open()).set(WEBHOOK, secret);
    this.#found.set(WEBHOOK.account, Promise.resolve(secret));
    return secret;
  }

  #ensure(name: SecretName, make: () => string): Promise<string> {
    const known = this.#found.get(name.account);
    if (known !== undefined) return known;
    const found = this.#findOrMake(name, make);
    this.#found.set(name.account, found);
    // The next use tries again.
    found.catch(() => this.#found.delete(name.account));
    return found;
  }

  async #findOrMake(name: SecretName, make: () => string): Promise<string> {
    const store = await this.#open();
    const kept = await store.get(name);
    if (kept !== undefined) return kept;
    const { data } = this.#options;
    await mkdir(data, { recursive: true, mode: 0o700 });
    // Another process may create it at the same time.
    return await withLock(join(data, "notify-secrets.lock"), async () => {
      const others = await store.get(name);
      if (others !== undefined) return others;
      const secret = make();
      await store.set(name, secret);
      return secret;
    });
  }

  #open(): Promise<SecretStore> {
    this.#store ??= openStore(this.#options);
    return this.#store;
  }
}

async function openStore({ data, configFile, env }: NotifySecretsOptions): Promise<SecretStore> {
  if (env.TRUNKLINE_TOKEN_STORE !== "file") {
    try {
      const { Keychain } = await import("../../store/secret/keychain.ts");
      return await Keychain.open();
    } catch (error) {
      if (env.TRUNKLINE_TOKEN_STORE === "keychain") throw error;
    }
  }
  const { EncryptedFile } = await import("../../identity/tokens/encrypted-file.ts");
  const keyFile = join(configFile === undefined ? data : dirname(configFile), "token.key");
  return new EncryptedFile(join(data, "notify-secrets.enc"), { env, keyFile });
}

function newWebhookSecret(): string {
  return WEBHOOK_PREFIX + randomBytes(32).toString("base64");
}

/** The bytes of a webhook's secret. */
export function webhookKey(secret: string): Buffer {
  return Buffer.from(secret.slice(WEBHOOK_PREFIX.length), "base64");
}
