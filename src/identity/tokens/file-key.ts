import { randomBytes, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, link, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";

/** What the token file is encrypted with: a given passphrase, or a generated one in a file. */
export type KeyKind = "passphrase" | "generated";

export interface FileKeyOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The file for a generated passphrase. */
  readonly keyFile: string;
  /** Prompts the person, if there is one. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
}

export interface FileKey {
  readonly kind: KeyKind;
  readonly words: string;
}

/** The passphrase of the token file; `kind` is undefined for a new file. */
export async function fileKey(
  kind: KeyKind | undefined,
  options: FileKeyOptions,
): Promise<FileKey> {
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
export async function givenWords(env: NodeJS.ProcessEnv): Promise<string | undefined> {
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

/** Another process may make one at the same time: then the first one counts, for both. */
async function makeWords(file: string): Promise<string> {
  const words = randomBytes(32).toString("base64url");
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(temporary, `${words}\n`, { mode: 0o600, flag: "wx", flush: true });
    await placeOnce(temporary, file);
    return words;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return (await readPrivate(file)).trim();
    const says = `Cannot write '${file}': ${fileWords(error, file)}`;
    throw new TrunklineError("config", says, { cause: error });
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Whoever finds the file finds it whole, except in file systems without links. */
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
    const { mode } = await stat(file);
    if ((mode & 0o077) !== 0 && process.platform !== "win32") {
      const next = `Make it private with: chmod 600 '${file}'`;
      throw new TrunklineError(
        "untrusted",
        `Cannot use '${file}': other users may read it. ${next}`,
      );
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
