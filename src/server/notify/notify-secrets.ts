import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";

import { Lazy } from "../../base/lazy.ts";
import { withLock } from "../../store/replace-file.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";
import { openSecretStore } from "../../identity/open/open-secret-store.ts";
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

export type NotifySecrets = ReturnType<typeof notifySecrets>;

/** The secrets of notifications: in the system's keychain, or in an encrypted file where there is none. */
export function notifySecrets(options: NotifySecretsOptions) {
  const { data } = options;
  const store = new Lazy(() => openStore(options));
  /** The key never changes, since subscriptions belong to it. */
  const vapid = new Lazy(
    async () => new VapidKey(await findOrMake(VAPID, () => VapidKey.create())),
  );

  /** Replaces the secret of webhooks, for all processes. */
  async function rotateWebhook(): Promise<string> {
    const secret = newWebhookSecret();
    await (await store.get()).set(WEBHOOK, secret);
    return secret;
  }

  async function findOrMake(name: SecretName, make: () => string): Promise<string> {
    const opened = await store.get();
    const kept = await opened.get(name);
    if (kept !== undefined) return kept;
    await mkdir(data, { recursive: true, mode: 0o700 });
    // Another process may create it at the same time.
    return await withLock(join(data, "notify-secrets.lock"), async () => {
      const others = await opened.get(name);
      if (others !== undefined) return others;
      const secret = make();
      await opened.set(name, secret);
      return secret;
    });
  }

  return {
    /** The key by which push services know this gateway. It is created with the first use. */
    vapid: () => vapid.get(),
    /**
     * The secret with which webhooks are signed. It is created with the first use, and read with every use:
     * another process may have replaced it.
     */
    webhook: () => findOrMake(WEBHOOK, newWebhookSecret),
    rotateWebhook,
  };
}

function openStore({ data, configFile, env }: NotifySecretsOptions): Promise<SecretStore> {
  const keyFile = join(configFile === undefined ? data : dirname(configFile), "token.key");
  return openSecretStore({ env, file: join(data, "notify-secrets.enc"), keyFile });
}

function newWebhookSecret(): string {
  return WEBHOOK_PREFIX + randomBytes(32).toString("base64");
}

/** The bytes of a webhook's secret. */
export function webhookKey(secret: string): Buffer {
  return Buffer.from(secret.slice(WEBHOOK_PREFIX.length), "base64");
}
