import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";

import { replaceFile, withLock } from "../../store/replace-file.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";

/** What is known about a token, without the token. Times are ISO 8601. */
export interface TokenRecord {
  readonly store?: SecretStore["kind"];
  readonly storedAt?: string;
  readonly expires?: string | undefined;
  readonly scopes?: readonly string[];
  /** The user that the forge reports. */
  readonly user?: string;
  readonly checkedAt?: string;
  /** When a server last rejected it. */
  readonly rejectedAt?: string;
}

/** A plain file beside the tokens: when they expire can be read without decrypting them. */
export class TokenRecords {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async get(name: SecretName): Promise<TokenRecord> {
    return (await this.#read())[keyOf(name)] ?? {};
  }

  /** Replaces a record; undefined removes it. */
  async set(name: SecretName, record: TokenRecord | undefined): Promise<void> {
    await this.#change(name, () => record);
  }

  async update(name: SecretName, more: Partial<TokenRecord>): Promise<void> {
    await this.#change(name, (known) => ({ ...known, ...more }));
  }

  async #change(
    name: SecretName,
    change: (known: TokenRecord | undefined) => TokenRecord | undefined,
  ): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    await withLock(`${this.#path}.lock`, async () => {
      const { [keyOf(name)]: known, ...others } = await this.#read();
      const record = change(known);
      const all = record === undefined ? others : { ...others, [keyOf(name)]: record };
      await replaceFile(this.#path, `${JSON.stringify(all, null, 1)}\n`);
    });
  }

  /** An unreadable file counts as empty: all of it can be fetched from the forge again. */
  async #read(): Promise<Readonly<Record<string, TokenRecord>>> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#path, "utf8"));
      return typeof value === "object" && value !== null
        ? (value as Record<string, TokenRecord>)
        : {};
    } catch {
      return {};
    }
  }
}

function keyOf({ service, account }: SecretName): string {
  return `${service}|${account}`;
}
