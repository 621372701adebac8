import { readFileSync, statSync } from "node:fs";
import { createUser } from "@nats-io/nkeys";
import {
  type Auth,
  type Authenticator,
  credsAuthenticator,
  nkeyAuthenticator,
  usernamePasswordAuthenticator,
} from "@nats-io/transport-node";
import { TrunklineError } from "../../base/errors.ts";
import { holdSecret } from "../../base/text/mask.ts";
import { type FleetUser, userSettings } from "./permissions.ts";

const SEED = /^SU[A-Z2-7]{56}$/;
const PASSWORD = /^([^:#\s]+):(.+)$/;

/**
 * Answers the server with what is in a file. The file is read for each connection, so that new
 * credentials need no restart; while it cannot be read, the last ones count.
 */
export function credentialsFrom(path: string): Authenticator {
  let known = authenticator(path);
  return (nonce?: string): Auth => {
    try {
      known = authenticator(path);
    } catch {
      // An error here would close the connection for ever.
    }
    return known(nonce);
  };
}

export function userAndPassword(user: string, password: string): Authenticator {
  return usernamePasswordAuthenticator(user, password);
}

function authenticator(path: string): Authenticator {
  let text: string;
  let isOpenToOthers: boolean;
  try {
    text = readFileSync(path, "utf8");
    // A group may read it: Kubernetes gives secrets to the group of a pod.
    isOpenToOthers = process.platform !== "win32" && (statSync(path).mode & 0o004) !== 0;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TrunklineError("config", `Cannot read the credentials for NATS: ${why}.`, {
      cause: error,
    });
  }
  for (const line of text.split("\n")) holdSecret(PASSWORD.exec(line.trim())?.[2] ?? line.trim());
  if (isOpenToOthers) {
    const next = `Run \`chmod o= ${path}\``;
    const says = `Cannot use the credentials for NATS in ${path}: every user of this machine can read them`;
    throw new TrunklineError("config", `${says}. ${next}.`);
  }
  if (text.includes("BEGIN NATS USER JWT")) return credsAuthenticator(Buffer.from(text));
  const lines = text.split("\n").map((line) => line.trim());
  const seed = lines.find((line) => SEED.test(line));
  if (seed !== undefined) return nkeyAuthenticator(Buffer.from(seed));
  const [, user, password] = lines.map((line) => PASSWORD.exec(line)).find(Boolean) ?? [];
  if (user !== undefined && password !== undefined) return userAndPassword(user, password);
  throw new TrunklineError(
    "config",
    `Cannot read the credentials for NATS in ${path}: expected a file of nsc (.creds), the seed of ` +
      "an nkey (SU…), or one line `USER:PASSWORD`.",
  );
}

/** A new user of NATS: what its node keeps to itself, and what nats-server has to know. */
interface NewUser {
  /** The seed of its nkey, which is a secret. */
  readonly seed: string;
  /** Its entry in the settings of nats-server: it may do what it needs in its pool, and nothing else. */
  readonly settings: string;
}

export function newUser(user: Omit<FleetUser, "nkey">): NewUser {
  const pair = createUser();
  const seed = new TextDecoder().decode(pair.getSeed());
  return { seed, settings: userSettings({ ...user, nkey: pair.getPublicKey() }) };
}
