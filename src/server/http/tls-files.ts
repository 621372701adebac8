import { readFileSync } from "node:fs";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import type { Config } from "../../config/config.ts";

/** The certificate and the key of `serve.tls`. Throws "config" if they cannot be used. */
export function readTls(tls: NonNullable<Config["serve"]["tls"]>): { cert: Buffer; key: Buffer } {
  const read = (key: "certFile" | "keyFile"): Buffer => {
    try {
      return readFileSync(tls[key]);
    } catch (error) {
      throw wrongTls(`Cannot read '${tls[key]}', named by \`serve.tls.${key}\``, error);
    }
  };
  const pair = { cert: read("certFile"), key: read("keyFile") };
  try {
    process.getBuiltinModule("node:tls").createSecureContext(pair);
  } catch (error) {
    throw wrongTls(`Cannot use '${tls.certFile}' with '${tls.keyFile}' for TLS`, error);
  }
  return pair;
}

function wrongTls(what: string, error: unknown): TrunklineError {
  const { path } = error as NodeJS.ErrnoException;
  return new TrunklineError("config", `${what}: ${fileWords(error, path)}`, { cause: error });
}
