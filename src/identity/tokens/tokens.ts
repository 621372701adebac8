import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { holdSecret } from "../../base/text/mask.ts";
import type { Identity } from "../identity.ts";
import { EncryptedFile } from "./encrypted-file.ts";
import { runProgram } from "../../git/run-program.ts";
import { RecordFile } from "../../store/record-file.ts";
import { Keychain } from "../../store/secret/keychain.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";

interface TokensOptions {
  /** The data folder. */
  readonly data: string;
  /**
   * The folder of the configuration, where the token file's key is kept, apart from the token file.
   */
  readonly configFolder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Prompts the person for the token file's passphrase, if there is one. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  readonly openKeychain?: (() => Promise<SecretStore>) | undefined;
}

interface FoundToken {
  readonly token: string;
  /** Where it was found, for display. */
  readonly where: string;
  readonly record: TokenRecord;
}

export type Tokens = ReturnType<typeof openTokens>;

/** The tokens of identities, wherever they are stored. */
export function openTokens({ data, configFolder, env, ask, openKeychain }: TokensOptions) {
  const folder = join(data, "identity");
  const keyFile = join(configFolder, "token.key");
  const file = new EncryptedFile(join(folder, "tokens.enc"), { env, keyFile, ask });
  /** A plain file beside the tokens: when they expire can be read without decrypting them. */
  const records = new RecordFile<TokenRecord>(join(folder, "tokens.json"));
  let choice: ReturnType<typeof chooseStore> | undefined;
  const inUse = () => (choice ??= chooseStore(file, env, openKeychain));

  const storesOf = async (): Promise<SecretStore[]> => {
    const { store } = await inUse();
    return store.kind === "file" ? [store] : [store, file];
  };

  const recordOf = async (identity: Identity): Promise<TokenRecord> =>
    (await records.get(keyOf(nameOf(identity)))) ?? {};

  const look = async (identity: Identity): Promise<FoundToken | undefined> => {
    const { kind, variable } = identity.tokenSource;
    const record = await recordOf(identity);
    switch (kind) {
      case "none":
        return undefined;
      case "environment": {
        const token = variable === undefined ? undefined : env[variable];
        if (token === undefined || token === "") return undefined;
        return { token, where: `the variable ${variable}`, record };
      }
      case "command-line": {
        const token = await tokenOfProgram(identity, env);
        const [program = ""] = forgeProgram(identity) ?? [];
        return token === undefined ? undefined : { token, where: program, record };
      }
      case "keychain": {
        const rank = (store: SecretStore): number => (store.kind === record.store ? 0 : 1);
        // The store that it was saved to comes first.
        for (const store of (await storesOf()).toSorted((a, b) => rank(a) - rank(b))) {
          const token = await store.get(nameOf(identity));
          if (token !== undefined) return { token, where: store.describe, record };
        }
        return undefined;
      }
    }
  };

  /** The token of an identity, if it has one. Throws "unavailable" if a store cannot be opened. */
  const find = async (identity: Identity): Promise<FoundToken | undefined> => {
    const found = await look(identity);
    holdSecret(found?.token);
    return found;
  };

  /** The token as it would be stored. Throws "usage" if it is malformed or not ours to store. */
  const check = (identity: Identity, token: string): string => {
    checkStored(identity, "store");
    return checkToken(token);
  };

  return {
    ...{ find, check, record: recordOf },

    /** Where new tokens are stored, for display, and why not in the keychain. */
    async describeStore(): Promise<string> {
      const { store, why } = await inUse();
      return why === undefined ? store.describe : `${store.describe}, since ${why}`;
    },

    /**
     * Where an identity has a token, in words; undefined if it has none. Never asks a keychain or another
     * program, since these may prompt a person; it uses the records of earlier calls.
     */
    async whereKept(identity: Identity): Promise<string | undefined> {
      const { kind, service } = identity.tokenSource;
      if (kind === "none" || kind === "environment") return (await find(identity))?.where;
      if (kind === "command-line") return (forgeProgram(identity) ?? [])[0];
      if ((await recordOf(identity)).store === "keychain") return "the system's keychain";
      if (await file.has(nameOf(identity))) return file.describe;
      return service === undefined ? undefined : `the system's keychain, as '${service}'`;
    },

    /** Stores a token. Returns where, for display. */
    async save(identity: Identity, token: string, known: TokenRecord = {}): Promise<string> {
      const clean = check(identity, token);
      const name = nameOf(identity);
      const { store, why, isForced } = await inUse();
      let used = store;
      let reason = why;
      try {
        await store.set(name, clean);
      } catch (error) {
        // A keychain that can be read may still refuse to write, as in a new session.
        if (store.kind === "file" || isForced) throw error;
        used = file;
        reason = (error as Error).message;
        await used.set(name, clean);
      }
      const storedAt = new Date().toISOString();
      await records.change(keyOf(name), () => ({ store: used.kind, storedAt, ...known }));
      return reason === undefined ? used.describe : `${used.describe}, since: ${reason}`;
    },

    /** Removes a token. Returns whether there was one. */
    async clear(identity: Identity): Promise<boolean> {
      checkStored(identity, "clear");
      const name = nameOf(identity);
      const removed = await Promise.all((await storesOf()).map((store) => store.remove(name)));
      await records.change(keyOf(name), () => undefined);
      return removed.includes(true);
    },

    /** Records what a forge says about a token. */
    note: (identity: Identity, more: Partial<TokenRecord>) =>
      records.change(keyOf(nameOf(identity)), (known) => ({ ...known, ...more })),
  };
}

interface ChosenStore {
  readonly store: SecretStore;
  /** Why it is not the keychain. */
  readonly why?: string;
  /** `TRUNKLINE_TOKEN_STORE` names it. */
  readonly isForced: boolean;
}

/** The system's keychain, or an encrypted file where there is none. */
export async function chooseStore(
  file: EncryptedFile,
  { TRUNKLINE_TOKEN_STORE: named = "" }: NodeJS.ProcessEnv,
  openKeychain: () => Promise<SecretStore> = () => Keychain.open(),
): Promise<ChosenStore> {
  if (named === "file") return { store: file, isForced: true };
  if (!["", "auto", "keychain"].includes(named)) {
    const says = `Cannot use TRUNKLINE_TOKEN_STORE '${named}': it must be auto, keychain or file`;
    throw new TrunklineError("config", says);
  }
  const isForced = named === "keychain";
  try {
    return { store: await openKeychain(), isForced };
  } catch (error) {
    if (isForced) throw error;
    return { store: file, why: `no keychain is available (${(error as Error).message})`, isForced };
  }
}

/** Whether a token has expired, as far as is known. */
export function isExpired({ expires }: TokenRecord, now = Date.now()): boolean {
  return expires !== undefined && !(Date.parse(expires) > now);
}

const TWO_WEEKS = 14 * 24 * 60 * 60_000;

/** Whether a token expires within two weeks, or has: a person is told in time to make another. */
export function isExpiring(record: TokenRecord, now = Date.now()): boolean {
  return isExpired(record, now + TWO_WEEKS);
}

function nameOf({ provider, name, user, tokenSource }: Identity): SecretName {
  return { service: tokenSource.service ?? `trunkline.${provider}.${name}`, account: user ?? name };
}

function checkStored({ name, tokenSource }: Identity, verb: string): void {
  const { kind, variable } = tokenSource;
  if (kind === "keychain") return;
  const where =
    kind === "environment"
      ? `the variable ${variable ?? "(not named)"}`
      : kind === "none"
        ? "none"
        : "the forge's command-line program";
  const says = `Cannot ${verb} a token for '${name}': its \`tokenSource\` is ${where}`;
  throw new TrunklineError("usage", says);
}

function checkToken(token: string): string {
  const clean = token.trim();
  if (/^[\x21-\x7e]{8,8192}$/.test(clean)) return clean;
  const why =
    clean === "" ? "it is empty" : "it must be 8 to 8192 printable ASCII characters without spaces";
  throw new TrunklineError("usage", `Cannot store the token: ${why}`);
}

/** A masked token: four characters at each end, none of a short one. */
export function showToken(token: string): string {
  const ends = token.length >= 20 ? 4 : 0;
  return `${token.slice(0, ends)}••••••••${ends === 0 ? "" : token.slice(-ends)}`;
}

/** What is known about a token, without the token. Times are ISO 8601. */
export interface TokenRecord {
  readonly store?: SecretStore["kind"];
  readonly storedAt?: string;
  readonly expires?: string | undefined;
  readonly scopes?: readonly string[];
  /** The user that the forge reports. */
  readonly user?: string;
}

function keyOf({ service, account }: SecretName): string {
  return `${service}|${account}`;
}

const TIMEOUT = 5_000;
const MAX_OUTPUT = 16 * 1024;

/** The command that prints the forge's token, if the forge has one. */
function forgeProgram({ provider, host }: Identity): [string, ...string[]] | undefined {
  if (host === undefined) return undefined;
  if (provider === "github") return ["gh", "auth", "token", "--hostname", host];
  if (provider === "gitlab") return ["glab", "config", "get", "token", "--host", host];
  return undefined;
}

/** The token that `gh` or `glab` is logged in with, if it is. */
export async function tokenOfProgram(
  identity: Identity,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const line = forgeProgram(identity);
  if (line === undefined) {
    const says = `Cannot get the token of identity '${identity.name}': its tokenSource is 'command-line', but there is no known program for ${identity.provider}`;
    throw new TrunklineError("config", says);
  }
  const [command, ...args] = line;
  // These variables would override the stored token that we want.
  const { GH_TOKEN: _, GITHUB_TOKEN: __, GITLAB_TOKEN: ___, ...own } = env;
  const limits = { timeout: TIMEOUT, maxOutput: MAX_OUTPUT };
  const { code, stdout } = await runProgram({ command, args, env: own, ...limits });
  const token = stdout.toString("utf8").trim();
  return code === 0 && token !== "" ? token : undefined;
}

/** Variables with which programs of forges find their server. */
const HOSTS = ["GH_HOST", "GITLAB_HOST", "GL_HOST", "GITLAB_URI", "GITEA_SERVER_URL"] as const;

/** Variables from which programs of forges take a token. */
const TOKENS = [
  ...["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"],
  ...["GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN", "GITEA_SERVER_TOKEN"],
];

export type ForgeVariables = Readonly<Record<string, string>>;

/**
 * The token of an identity as `gh`, `glab` and `tea` read it. Each gets it only for the identity's
 * own server.
 */
export function forgeVariables({ provider, host }: Identity, token: string): ForgeVariables {
  if (host === undefined) return {};
  const server = `https://${host}`;
  switch (provider) {
    case "github": {
      // `gh` sends these two to github.com, and the others to a GitHub Enterprise Server
      // (gh help environment).
      const isCloud = host === "github.com" || host.endsWith(".ghe.com");
      const names = isCloud
        ? ["GH_TOKEN", "GITHUB_TOKEN"]
        : ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];
      return { GH_HOST: host, ...Object.fromEntries(names.map((name) => [name, token])) };
    }
    case "gitlab":
      return { GITLAB_HOST: server, GITLAB_TOKEN: token };
    case "other":
      return { GITEA_SERVER_URL: server, GITEA_SERVER_TOKEN: token };
    case "bitbucket":
      return {};
  }
}

/** An environment that has only these variables of forges, and none of another account's. */
export function replaceForgeVariables(
  base: NodeJS.ProcessEnv,
  own: ForgeVariables,
): NodeJS.ProcessEnv {
  const env = { ...base };
  for (const name of [...HOSTS, ...TOKENS]) delete env[name];
  return { ...env, ...own };
}

/** An environment with these variables, unless somebody has put a token there on purpose. */
export function addForgeVariables(base: NodeJS.ProcessEnv, own: ForgeVariables): NodeJS.ProcessEnv {
  const isGiven = TOKENS.some((name) => base[name] !== undefined && base[name] !== "");
  return isGiven || Object.keys(own).length === 0 ? base : replaceForgeVariables(base, own);
}
