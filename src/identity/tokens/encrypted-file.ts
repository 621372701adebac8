import {
  createCipheriv,
  createDecipheriv,
  hkdfSync,
  randomBytes,
  randomUUID,
  scrypt,
} from "node:crypto";
import { constants } from "node:fs";
import { copyFile, link, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";

import { TrunklineError, fileWords } from "../../base/errors.ts";
import { holdSecret } from "../../base/text/mask.ts";
import { replaceFile, withLock } from "../../store/replace-file.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";
import { objectIn } from "../../base/check.ts";

/** scrypt parameters (RFC 7914). They cost a tenth of a second and 32 MiB. */
const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 } as const;
const CIPHER = "aes-256-gcm";
/** An entry that shows whether the passphrase is right. */
const CHECK: SecretName = { service: "trunkline", account: "check" };

/** scrypt makes each guess of a passphrase expensive. For 256 random bits, HKDF is enough. */
type KeyDerivation = "scrypt" | "hkdf";

interface EncryptedText {
  readonly iv: string;
  readonly tag: string;
  readonly data: string;
}

interface TokenFile {
  readonly version: 1;
  readonly key: KeyKind;
  /** Files without it were written before there was a choice: scrypt. */
  readonly derivation?: KeyDerivation;
  readonly salt: string;
  readonly check: EncryptedText;
  readonly secrets: readonly (SecretName & EncryptedText)[];
}

const scryptKey = promisify<string, Buffer, number, typeof SCRYPT, Buffer>(scrypt);

/**
 * Tokens in an encrypted file: AES-256-GCM with a key that is derived from a passphrase. Each token is
 * bound to its name, so that two cannot be exchanged.
 */
export class EncryptedFile implements SecretStore {
  readonly kind = "file";
  readonly path: string;
  readonly #options: FileKeyOptions;
  /** The key that scrypt has derived, and its salt. */
  #key: { readonly salt: string; readonly bytes: Promise<Buffer> } | undefined;

  constructor(path: string, options: FileKeyOptions) {
    this.path = path;
    this.#options = options;
  }

  get describe(): string {
    const { TRUNKLINE_TOKEN_KEY, TRUNKLINE_TOKEN_KEY_FILE } = this.#options.env;
    const lock = TRUNKLINE_TOKEN_KEY
      ? "encrypted with TRUNKLINE_TOKEN_KEY"
      : TRUNKLINE_TOKEN_KEY_FILE
        ? "encrypted with the passphrase in TRUNKLINE_TOKEN_KEY_FILE"
        : `whose key is in ${this.#options.keyFile}`;
    return `an encrypted file (${this.path}), ${lock}`;
  }

  async get(name: SecretName): Promise<string | undefined> {
    const file = await this.#read();
    const found = file?.secrets.find((each) => isSame(each, name));
    if (file === undefined || found === undefined) return undefined;
    const secret = open(await this.#keyOf(file), name, found, this.path);
    holdSecret(secret);
    return secret;
  }

  /** Whether it has a secret. Decrypts it as a check, unless that needs a prompt for the passphrase. */
  async has(name: SecretName): Promise<boolean> {
    const file = await this.#read();
    if (file === undefined || !file.secrets.some((each) => isSame(each, name))) return false;
    if (file.key === "passphrase" && (await givenWords(this.#options.env)) === undefined)
      return true;
    return (await this.get(name)) !== undefined;
  }

  async set(name: SecretName, secret: string): Promise<void> {
    holdSecret(secret);
    await this.#change(async (file) => {
      const { now, bytes } =
        file === undefined ? await this.#begin() : { now: file, bytes: await this.#keyOf(file) };
      const others = now.secrets.filter((each) => !isSame(each, name));
      return { ...now, secrets: [...others, { ...name, ...seal(bytes, name, secret) }] };
    });
  }

  async remove(name: SecretName): Promise<boolean> {
    let wasThere = false;
    await this.#change(async (file) => {
      wasThere = file?.secrets.some((each) => isSame(each, name)) ?? false;
      if (file === undefined || !wasThere) return undefined;
      return { ...file, secrets: file.secrets.filter((each) => !isSame(each, name)) };
    });
    return wasThere;
  }

  async #change(work: (file: TokenFile | undefined) => Promise<TokenFile | undefined>) {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    await withLock(`${this.path}.lock`, async () => {
      const changed = await work(await this.#read());
      if (changed !== undefined)
        await replaceFile(this.path, `${JSON.stringify(changed, null, 1)}\n`);
    });
  }

  async #begin(): Promise<{ now: TokenFile; bytes: Buffer }> {
    const { kind, words } = await fileKey(undefined, this.#options);
    const salt = randomBytes(16).toString("base64");
    const derivation = kind === "generated" ? "hkdf" : "scrypt";
    const bytes = await this.#derive(words, salt, derivation);
    const check = seal(bytes, CHECK, "trunkline");
    return { now: { version: 1, key: kind, derivation, salt, check, secrets: [] }, bytes };
  }

  async #keyOf({ key, derivation = "scrypt", salt, check }: TokenFile): Promise<Buffer> {
    const { words } = await fileKey(key, this.#options);
    const bytes = await this.#derive(words, salt, derivation);
    try {
      open(bytes, CHECK, check, this.path);
    } catch (error) {
      this.#key = undefined;
      const says = `Cannot open '${this.path}': the key is wrong`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
    return bytes;
  }

  async #derive(words: string, salt: string, derivation: KeyDerivation): Promise<Buffer> {
    if (derivation === "hkdf") {
      return Buffer.from(hkdfSync("sha256", words, Buffer.from(salt, "base64"), "trunkline", 32));
    }
    if (this.#key?.salt !== salt) {
      this.#key = { salt, bytes: scryptKey(words, Buffer.from(salt, "base64"), 32, SCRYPT) };
    }
    return await this.#key.bytes;
  }

  async #read(): Promise<TokenFile | undefined> {
    let text: string;
    try {
      text = await readPrivate(this.path);
    } catch (error) {
      if (error instanceof TrunklineError && error.code === "not-found") return undefined;
      throw error;
    }
    const file = objectIn(text) as TokenFile | undefined;
    if (file?.version === 1 && Array.isArray(file.secrets)) return file;
    const next = "Move it away, and store the tokens again";
    const says = `Cannot read '${this.path}': it is not a token file. ${next}`;
    throw new TrunklineError("config", says);
  }
}

function isSame(one: SecretName, other: SecretName): boolean {
  return one.service === other.service && one.account === other.account;
}

function seal(key: Buffer, name: SecretName, secret: string): EncryptedText {
  const iv = randomBytes(12);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(boundTo(name));
  const data = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  return {
    iv: iv.toString("base64"),
    tag: cipher.getAuthTag().toString("base64"),
    data: data.toString("base64"),
  };
}

function open(
  key: Buffer,
  name: SecretName,
  { iv, tag, data }: EncryptedText,
  path: string,
): string {
  try {
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(iv, "base64"), {
      authTagLength: 16,
    });
    decipher.setAAD(boundTo(name)).setAuthTag(Buffer.from(tag, "base64"));
    return decipher.update(data, "base64", "utf8") + decipher.final("utf8");
  } catch (error) {
    const says = `Cannot read the token of '${name.account}' in '${path}': it was tampered with`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
}

/** `|` is escaped in the service, so that no two names give the same text. */
function boundTo({ service, account }: SecretName): Buffer {
  return Buffer.from(`${service.replaceAll("|", "%7C")}|${account}`, "utf8");
}

/** What the token file is encrypted with: a given passphrase, or a generated one in a file. */
type KeyKind = "passphrase" | "generated";

interface FileKeyOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The file for a generated passphrase. */
  readonly keyFile: string;
  /** Prompts the person, if there is one. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
}

/** The passphrase of the token file; `kind` is undefined for a new file. */
export async function fileKey(
  kind: KeyKind | undefined,
  options: FileKeyOptions,
): Promise<{ readonly kind: KeyKind; readonly words: string }> {
  const { env, keyFile, ask } = options;
  if (kind !== "generated") {
    const given = await givenWords(env);
    if (given !== undefined) return { kind: "passphrase", words: given };
  }
  if (kind === "passphrase") {
    const asked = await ask?.("Passphrase of the token file: ");
    if (asked !== undefined && asked !== "") return { kind, words: asked };
    const next = "Set TRUNKLINE_TOKEN_KEY, or TRUNKLINE_TOKEN_KEY_FILE to a file that holds it";
    const says = `Cannot read the token file: its passphrase is missing. ${next}`;
    throw new TrunklineError("unavailable", says);
  }
  return { kind: "generated", words: await generatedWords(keyFile, kind === undefined) };
}

/** The passphrase that the environment gives or names, if any. */
async function givenWords(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { TRUNKLINE_TOKEN_KEY: words, TRUNKLINE_TOKEN_KEY_FILE: file } = env;
  if (words !== undefined && words !== "") return words;
  if (file === undefined || file === "") return undefined;
  const text = (await readPrivate(file)).trim();
  if (text !== "") return text;
  throw new TrunklineError("config", `Cannot use TRUNKLINE_TOKEN_KEY_FILE: '${file}' is empty`);
}

async function generatedWords(file: string, mayMake: boolean): Promise<string> {
  try {
    return (await readPrivate(file)).trim();
  } catch (error) {
    const isMissing = error instanceof TrunklineError && error.code === "not-found";
    if (!isMissing) throw error;
    if (mayMake) return await makeWords(file);
    const next = "Without it the tokens are lost: remove the token file, and store them again";
    throw new TrunklineError("unavailable", `${error.message}. ${next}`, { cause: error });
  }
}

/** Another process may create one at the same time: then both use the first. */
async function makeWords(file: string): Promise<string> {
  const words = randomBytes(32).toString("base64url");
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(temporary, `${words}\n`, { mode: 0o600, flag: "wx", flush: true });
    await placeOnce(temporary, file);
    return words;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return (await readPrivate(file)).trim();
    const says = `Cannot write '${file}': ${fileWords(error, file)}`;
    throw new TrunklineError("config", says, { cause: error });
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Creates the file atomically, except in file systems without links. */
async function placeOnce(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
    await copyFile(temporary, file, constants.COPYFILE_EXCL);
  }
}

/**
 * Reads a file that other users must not be able to read. Throws "not-found" if it does not exist.
 */
export async function readPrivate(file: string): Promise<string> {
  try {
    if (((await stat(file)).mode & 0o077) !== 0 && process.platform !== "win32") {
      const next = `Make it private with: chmod 600 '${file}'`;
      const says = `Cannot use '${file}': other users may read it. ${next}`;
      throw new TrunklineError("untrusted", says);
    }
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof TrunklineError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    const why = isMissing ? "" : fileWords(error, file);
    const says = isMissing ? `There is no file '${file}'` : `Cannot read '${file}': ${why}`;
    throw new TrunklineError(isMissing ? "not-found" : "unavailable", says, { cause: error });
  }
}
