import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { fileWords } from "../../base/errors.ts";
import {
  checkPair,
  parseCertificates,
  parseKey,
  FileError,
} from "../../protocol/bus/certificates/certificate-files.ts";

/** A certificate of the bus that cannot be used. */
export interface UnusableCertificate {
  /** `ca`, or the name of a program. */
  readonly name: string;
  readonly says: string;
  /** The files to create again: for the authority, also all that it has signed. */
  readonly files: readonly string[];
}

/**
 * The certificates of the bus that cannot be used, and that the bus does not renew by itself. Unlike
 * opening them, this changes nothing.
 */
export async function examineCertificates(
  folder: string,
  now: number = Date.now(),
): Promise<UnusableCertificate[]> {
  const names = (await readdir(folder).catch(() => [])).flatMap((file) => {
    return /^(.+)\.(?:crt|key)$/.exec(file)?.[1] ?? [];
  });
  const all = [...new Set(names)].toSorted();
  const problems = await Promise.all(all.map((name) => problemOf(folder, name, now)));
  const unusable = all.flatMap((name, index): UnusableCertificate[] => {
    const says = problems[index];
    const concerned = name === "ca" ? all : [name];
    return says === undefined ? [] : [{ name, says, files: concerned.flatMap(filesIn(folder)) }];
  });
  // All others are created again with it.
  const authority = unusable.find(({ name }) => name === "ca");
  return authority === undefined ? unusable : [authority];
}

async function problemOf(folder: string, name: string, now: number): Promise<string | undefined> {
  const [certificate = "", key = ""] = filesIn(folder)(name);
  try {
    const [certPem, keyPem] = await Promise.all([readText(certificate), readText(key)]);
    if (keyPem !== undefined) parseKey(key, keyPem);
    // A missing certificate is created for its key.
    if (certPem === undefined) return undefined;
    const [first] = parseCertificates(certificate, certPem);
    // The key of an authority may be kept on another machine.
    if (keyPem === undefined && name !== "ca") return `'${key}' is missing`;
    if (keyPem !== undefined) checkPair({ certificate, key }, first, parseKey(key, keyPem));
    const canRenew = keyPem !== undefined && (await readText(join(folder, "ca.key"))) !== undefined;
    if (first.validToDate.getTime() > now || canRenew) return undefined;
    return `'${certificate}' has expired, and there is no 'ca.key' to renew it with`;
  } catch (error) {
    if (error instanceof FileError) return error.message;
    throw error;
  }
}

function filesIn(folder: string): (name: string) => string[] {
  return (name) => [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new FileError(`'${path}' cannot be read: ${fileWords(error, path)}`, {
      cause: error,
    });
  }
}
