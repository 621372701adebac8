import { chmod, link, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

import { fileWords, TrunklineError } from "../../../base/errors.ts";
import { makeFolder } from "../../../base/file/path.ts";

/** Where hard links do not exist. */
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV"];

export interface FilePair {
  readonly certificate: string;
  readonly key: string;
}

/** What is on disk under one name. */
export interface PairTexts {
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  /** Milliseconds since one of them was written. */
  readonly age: number;
}

/** The folder with the certificates, which several programs read and write. */
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

  async read({ certificate, key }: FilePair): Promise<PairTexts> {
    await this.#protect(key);
    const [certificateText, keyText] = await Promise.all([readText(certificate), readText(key)]);
    const written = await Promise.all([certificate, key].map(writtenAt));
    const age = Date.now() - Math.max(...written);
    return { certificate: certificateText, key: keyText, age };
  }

  /** Makes a file unless somebody else was first: then theirs stands. */
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

  /** Puts a text in a file's place, whole or not at all. */
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
      const made = makeFolder(this.folder, 0o700);
      if (made !== undefined || process.platform === "win32") return;
      const { mode } = await stat(this.folder);
      if ((mode & 0o022) === 0) return;
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
    // Half a key would be taken for a damaged one at the next start.
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
