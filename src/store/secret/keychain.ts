import { atMost } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import { holdSecret } from "../../base/text/mask.ts";
import type { SecretName, SecretStore } from "./secret-store.ts";

/** The part of `@napi-rs/keyring` that is used. */
export interface Keyring {
  readonly AsyncEntry: new (
    service: string,
    account: string,
    options: { readonly linux: { readonly store: "secret-service" } },
  ) => {
    getPassword(): Promise<string | null>;
    setPassword(password: string): Promise<void>;
    deleteCredential(): Promise<boolean>;
  };
}

/** Not a literal, so that the program starts on a machine for which the package has no build. */
const PACKAGE: string = "@napi-rs/keyring";
/** A locked keychain waits for a person, who may not be there. */
const LONGEST_WAIT = 5_000;
const PROBE: SecretName = { service: "trunkline", account: "is-there-a-keychain" };

/** The system's keychain: Keychain on macOS, Credential Manager on Windows, Secret Service. */
export class Keychain implements SecretStore {
  readonly kind = "keychain";
  readonly #keyring: Keyring;
  readonly #longestWait: number;

  private constructor(keyring: Keyring, longestWait: number) {
    this.#keyring = keyring;
    this.#longestWait = longestWait;
  }

  /** Throws "unavailable", with the reason, if no keychain answers. */
  static async open(
    load: () => Promise<Keyring> = loadKeyring,
    longestWait = LONGEST_WAIT,
  ): Promise<Keychain> {
    let keyring: Keyring;
    try {
      keyring = await load();
    } catch (error) {
      const says = `The keychain cannot be used: ${(error as Error).message.split("\n", 1)[0]}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
    const keychain = new Keychain(keyring, longestWait);
    await keychain.get(PROBE);
    return keychain;
  }

  get describe(): string {
    const names: Readonly<Record<string, string>> = {
      darwin: "the macOS keychain",
      win32: "the Windows credential manager",
    };
    return names[process.platform] ?? "the system's keychain (Secret Service)";
  }

  async get(name: SecretName): Promise<string | undefined> {
    const secret = (await this.#do("read", name, (entry) => entry.getPassword())) ?? undefined;
    holdSecret(secret);
    return secret;
  }

  async set(name: SecretName, secret: string): Promise<void> {
    holdSecret(secret);
    await this.#do("write", name, (entry) => entry.setPassword(secret));
  }

  async remove(name: SecretName): Promise<boolean> {
    return await this.#do("change", name, (entry) => entry.deleteCredential());
  }

  async #do<T>(
    verb: string,
    { service, account }: SecretName,
    work: (entry: InstanceType<Keyring["AsyncEntry"]>) => Promise<T>,
  ): Promise<T> {
    const late = `it did not answer within ${this.#longestWait} ms; it may be locked`;
    try {
      // By default the library falls back to a kernel keyring, which loses its content.
      const options = { linux: { store: "secret-service" } } as const;
      const entry = new this.#keyring.AsyncEntry(service, account, options);
      return await atMost(this.#longestWait, work(entry), () => new Error(late));
    } catch (error) {
      const { message } = error as Error;
      const says = `Cannot ${verb} the keychain: ${message.split("\n", 1)[0]}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
  }
}

async function loadKeyring(): Promise<Keyring> {
  const loaded = (await import(PACKAGE)) as Keyring & { readonly default?: Keyring };
  return loaded.default ?? loaded;
}
