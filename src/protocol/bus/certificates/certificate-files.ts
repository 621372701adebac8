import { X509Certificate, createPrivateKey, type KeyObject } from "node:crypto";
import { chmod, link, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TrunklineError, fileWords } from "../../../base/errors.ts";
import { makeFolder } from "../../../base/file/path.ts";

/** Errors of file systems without hard links. */
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV"];

export interface FilePair {
  readonly certificate: string;
  readonly key: string;
}

/** The folder of the certificates, which several programs read and write at the same time. */
export class CertificateFiles {
  readonly folder: string;
  readonly #warn: (message: string) => void;

  constructor(folder: string, warn: (message: string) => void) {
    this.folder = folder;
    this.#warn = warn;
  }

  pair(name: string): FilePair {
    return { certificate: join(this.folder, `${name}.crt`), key: join(this.folder, `${name}.key`) };
  }

  /** The contents of a pair of files, and the milliseconds since one of them was written. */
  async read({ certificate, key }: FilePair) {
    await this.#protect(key);
    const [certificateText, keyText] = await Promise.all([readText(certificate), readText(key)]);
    const written = await Promise.all([certificate, key].map(writtenAt));
    return { certificate: certificateText, key: keyText, age: Date.now() - Math.max(...written) };
  }

  /** Creates a file, unless another program has created it first. */
  async create(path: string, text: string): Promise<void> {
    await this.#makeFolder();
    await this.#write(path, text, async (temporary) => {
      try {
        await link(temporary, path);
      } catch (error) {
        const { code = "" } = error as NodeJS.ErrnoException;
        if (NO_LINKS.includes(code)) await createInPlace(path, text);
        else if (code !== "EEXIST") throw error;
      }
    });
  }

  /** Replaces a file atomically. */
  async replace(path: string, text: string): Promise<void> {
    await this.#write(path, text, (temporary) => rename(temporary, path));
  }

  async #write(
    path: string,
    text: string,
    publish: (temporary: string) => Promise<void>,
  ): Promise<void> {
    const temporary = `${path}.${crypto.randomUUID()}`;
    try {
      {
        await using file = await open(temporary, "wx", 0o600);
        await file.writeFile(text);
        await file.sync();
      }
      await publish(temporary);
    } catch (error) {
      throw cannot("write", path, error);
    } finally {
      await rm(temporary, { force: true });
    }
  }

  async #makeFolder(): Promise<void> {
    try {
      if (makeFolder(this.folder, 0o700) !== undefined || process.platform === "win32") return;
      if (((await stat(this.folder)).mode & 0o022) === 0) return;
      const next = `Run: chmod go-w '${this.folder}'`;
      this.#warn(`Others than you can put certificates into '${this.folder}'. ${next}`);
    } catch (error) {
      throw cannot("write in", this.folder, error);
    }
  }

  /** A key that others can read is no secret. The folder may be anybody's, and is left alone. */
  async #protect(key: string): Promise<void> {
    if (process.platform === "win32") return;
    const mode = await stat(key).then(
      (found) => found.mode & 0o777,
      () => 0,
    );
    if ((mode & 0o077) === 0) return;
    const was = `'${key}' could be used by others than you (mode ${mode.toString(8)})`;
    try {
      await chmod(key, 0o600);
      this.#warn(`${was}; it is now yours alone. Delete it if somebody may have copied it.`);
    } catch (error) {
      this.#warn(`${was}, and this cannot be changed: ${fileWords(error, key)}`);
    }
  }
}

async function createInPlace(path: string, text: string): Promise<void> {
  try {
    await using file = await open(path, "wx", 0o600);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    // A half-written key would look like a damaged one at the next start.
    await rm(path, { force: true }).catch(() => {});
    throw error;
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw cannot("read", path, error);
  }
}

async function writtenAt(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

function cannot(verb: string, path: string, cause: unknown): TrunklineError {
  const says = `Cannot ${verb} '${path}': ${fileWords(cause, path)}`;
  return new TrunklineError("config", says, { cause });
}

/** A file that cannot be used. Another program may be writing it at the moment. */
export class FileError extends Error {}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** All certificates of a file. Where only one can be used, it is the first. */
export function parseCertificates(
  path: string,
  text: string,
): [X509Certificate, ...X509Certificate[]] {
  const [first, ...others] = (text.match(CERTIFICATE) ?? []).map((block) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw new FileError(`'${path}' is not a certificate`, { cause: error });
    }
  });
  if (first === undefined) throw new FileError(`there is no certificate in '${path}'`);
  return [first, ...others];
}

export function parseKey(path: string, text: string): KeyObject {
  if (text.includes("ENCRYPTED")) {
    throw new FileError(`'${path}' is protected by a passphrase, which cannot be asked for here`);
  }
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new FileError(`'${path}' is not a private key`, { cause: error });
  }
}

export function checkPair(pair: FilePair, certificate: X509Certificate, key: KeyObject): void {
  if (certificate.checkPrivateKey(key)) return;
  throw new FileError(`'${pair.key}' is not the key of '${pair.certificate}'`);
}

/** Milliseconds. Other programs write files in place, so a younger file may be half written. */
export const SETTLE = 2_000;
const LOOK_AGAIN = 25;
/** A key, a certificate and its renewal are three changes. More mean that writing has no effect. */
const MAX_CHANGES = 10;

/**
 * Reads a pair of files until an attempt returns a result. An attempt without one has changed the
 * files. Files that cannot be used are read again while they are so new that they may be half written.
 */
export async function settled<T>(
  files: CertificateFiles,
  pair: FilePair,
  attempt: (texts: Awaited<ReturnType<CertificateFiles["read"]>>) => Promise<T | undefined>,
): Promise<T> {
  for (let changes = 0; changes <= MAX_CHANGES;) {
    const texts = await files.read(pair);
    try {
      const result = await attempt(texts);
      if (result !== undefined) return result;
      changes++;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (Math.abs(texts.age) >= SETTLE) throw unusable(pair, error);
      await delay(LOOK_AGAIN);
    }
  }
  const why =
    "the files do not exist after they were written. Check whether one of them is a dangling link.";
  throw new TrunklineError("config", `Cannot make '${pair.certificate}' and its key: ${why}`);
}

function unusable({ certificate, key }: FilePair, cause: FileError): TrunklineError {
  const next = `Put the right files there, or delete '${certificate}' and '${key}' to have them made`;
  const message = `Cannot use these certificates: ${cause.message}. ${next}`;
  return new TrunklineError("config", message, { cause });
}
