import { isObject } from "../../base/check.ts";
import { TrunklineError } from "../../base/errors.ts";
import { maskText } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { IdentitySettings, Provider, Signing, TokenSource } from "../identity.ts";

/** What RemoteJuggler's `config.json` becomes. */
export interface JugglerImport {
  readonly identities: Readonly<Record<string, IdentitySettings>>;
  /** Everything beside them. */
  readonly rest: JugglerValues;
  /** Paths of the fields that were dropped because they hold a secret. */
  readonly secrets: readonly string[];
}

const DEEPEST = 32;

/** Reads RemoteJuggler's configuration. Of an identity, what Trunkline uses is taken. Secrets are listed. */
export function importJuggler(text: string, file: string): JugglerImport {
  const config = parse(text, file);
  const secrets: string[] = [];
  const { identities = {}, ...rest } = withoutSecrets(config, "", secrets) as JugglerValues;
  if (!isObject(identities)) throw malformed(file, "'identities' is not an object");
  const imported: Record<string, IdentitySettings> = {};
  for (const [name, fields] of Object.entries(identities)) {
    if (!isObject(fields)) throw malformed(file, `identity '${name}' is not an object`);
    imported[name] = readFields(fields);
  }
  return { identities: imported, rest, secrets };
}

/** The configuration as RemoteJuggler shows its own. */
export function jugglerView(
  identities: Readonly<Record<string, IdentitySettings>>,
  rest: JugglerValues = {},
): JugglerValues {
  const exported = Object.entries(identities).map(([name, settings]) => {
    return [name, writeFields(settings)];
  });
  return { ...rest, identities: Object.fromEntries(exported) as JugglerValues };
}

function readFields(fields: JugglerValues): IdentitySettings {
  const draft: Draft = { provider: "other" };
  for (const field of JUGGLER_FIELDS) {
    const value = at(fields, field.path);
    if (value !== undefined) field.read(value, draft);
  }
  // RemoteJuggler signs commits only if signCommits is set.
  if (draft.signing !== undefined) draft.signing = { signCommits: false, ...draft.signing };
  return draft as IdentitySettings;
}

function writeFields(settings: IdentitySettings): JugglerValues {
  const written: Record<string, unknown> = {};
  for (const { path, write } of JUGGLER_FIELDS) {
    const value = write(settings);
    if (value !== undefined) put(written, path, value);
  }
  return written;
}

function withoutSecrets(value: unknown, path: string, secrets: string[]): unknown {
  if (path.split(".").length > DEEPEST) return value;
  if (Array.isArray(value)) {
    return value.map((item, index) => withoutSecrets(item, `${path}[${index}]`, secrets));
  }
  if (!isObject(value)) return value;
  const clean = Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
    const here = path === "" ? key : `${path}.${key}`;
    if (!isSecret(key, item)) return [[key, withoutSecrets(item, here, secrets)]];
    secrets.push(here);
    return [];
  });
  return Object.fromEntries(clean);
}

function isSecret(key: string, value: unknown): boolean {
  if (typeof value !== "string" || value === "") return false;
  if (/^(?:token|pin|password|passphrase|secret)$/i.test(key)) return true;
  return maskText(value).includes("•••") && !value.includes("•••");
}

function parse(text: string, file: string): JugglerValues {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw malformed(file, `it is not JSON (${visibleLine((error as Error).message)})`);
  }
  if (!isObject(value)) throw malformed(file, "it is not an object");
  if (!Object.hasOwn(value, "identities")) throw malformed(file, "it has no 'identities'");
  return value;
}

function malformed(file: string, why: string): TrunklineError {
  const says = `Cannot import '${file}' as RemoteJuggler's configuration: ${why}`;
  return new TrunklineError("config", says);
}

function at(values: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return values;
  return isObject(values) && Object.hasOwn(values, step) ? at(values[step], rest) : undefined;
}

function put(values: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key = "", ...rest] = path;
  if (rest.length === 0) values[key] = value;
  else put((values[key] ??= {}) as Record<string, unknown>, rest, value);
}

/** RemoteJuggler's configuration; no field can be relied on. */
export type JugglerValues = Readonly<Record<string, unknown>>;

/** An identity while its fields are read; none is required yet. */
type Draft = { -readonly [Key in keyof IdentitySettings]?: IdentitySettings[Key] };

/** How one field of RemoteJuggler is read, and shown. */
interface JugglerField {
  /** Path within the identity: `gpg`, `keyId`. */
  readonly path: readonly string[];
  readonly read: (value: unknown, draft: Draft) => void;
  readonly write: (settings: IdentitySettings) => unknown;
}

type TextKey = "host" | "sshHost" | "user" | "email" | "sshKey";

/** In RemoteJuggler `host` is the SSH alias and `hostname` the real host. */
const JUGGLER_FIELDS: readonly JugglerField[] = [
  {
    path: ["provider"],
    read: (value, draft) => {
      draft.provider = isProvider(value) ? value : "other";
    },
    write: ({ provider }) => provider,
  },
  text("host", "sshHost", /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/),
  text("hostname", "host"),
  text("user", "user"),
  text("email", "email", /^[^\s<>]+@[^\s<>]+$/),
  text("sshKeyPath", "sshKey", /^(?:\/|~\/)/),
  {
    path: ["organizations"],
    read: (value, draft) => {
      const names = Array.isArray(value) ? value.filter((each) => isText(each)) : [];
      if (names.length > 0) draft.organizations = names;
    },
    write: ({ organizations }) => organizations,
  },
  {
    path: ["credentialSource"],
    read: (value, draft) => {
      const kind = KINDS[String(value)];
      if (kind !== undefined) draft.tokenSource = { ...draft.tokenSource, kind };
    },
    write: ({ tokenSource }) => {
      if (tokenSource === undefined) return undefined;
      return Object.entries(KINDS).find(([, kind]) => kind === tokenSource.kind)?.[0];
    },
  },
  {
    path: ["tokenEnvVar"],
    read: (value, draft) => {
      if (!isText(value)) return;
      draft.tokenSource = { kind: "environment", ...draft.tokenSource, variable: value };
    },
    write: ({ tokenSource }) => tokenSource?.variable,
  },
  {
    path: ["keychainService"],
    read: (value, draft) => {
      if (!isText(value)) return;
      draft.tokenSource = { kind: "keychain", ...draft.tokenSource, service: value };
    },
    write: ({ tokenSource }) => tokenSource?.service,
  },
  {
    path: ["gpg", "format"],
    read: (value, draft) => {
      if (!isText(value)) return;
      // RemoteJuggler writes `gpg`, which git refuses.
      sign(draft, { format: value === "ssh" ? "ssh" : "openpgp" });
    },
    write: ({ signing }) => (signing?.format === "openpgp" ? "gpg" : signing?.format),
  },
  {
    path: ["gpg", "keyId"],
    read: (value, draft) => {
      if (isText(value)) sign(draft, value === "auto" ? {} : { key: value });
    },
    write: ({ signing }) => (signing?.format === "ssh" ? undefined : signing?.key),
  },
  {
    path: ["gpg", "sshKeyPath"],
    read: (value, draft) => {
      if (isText(value) && draft.signing?.format === "ssh") sign(draft, { key: value });
    },
    write: ({ signing }) => (signing?.format === "ssh" ? signing.key : undefined),
  },
  flag("signCommits", "signCommits"),
  flag("signTags", "signTags"),
  flag("hardwareKey", "hardware"),
  {
    path: ["gpg", "touchPolicy"],
    read: (value, draft) => {
      if (isText(value)) sign(draft, { touchPolicy: value });
    },
    write: ({ signing }) => signing?.touchPolicy,
  },
];

const KINDS: Readonly<Record<string, TokenSource["kind"]>> = {
  keychain: "keychain",
  environment: "environment",
  env: "environment",
  cli: "command-line",
  none: "none",
};

/** A value that we cannot use is left out. */
function text(name: string, key: TextKey, fits = /./): JugglerField {
  return {
    path: [name],
    read: (value, draft) => {
      if (isText(value) && fits.test(value)) draft[key] = value;
    },
    write: (settings) => settings[key],
  };
}

function flag(name: string, key: "signCommits" | "signTags" | "hardware"): JugglerField {
  return {
    path: ["gpg", name],
    read: (value, draft) => {
      if (isBoolean(value)) sign(draft, { [key]: String(value) === "true" });
    },
    write: ({ signing }) => signing?.[key],
  };
}

/** Any signing field implies OpenPGP, unless the format says otherwise. */
function sign(draft: Draft, more: Partial<Signing>): void {
  draft.signing = { format: "openpgp", ...draft.signing, ...more };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** RemoteJuggler writes booleans with and without quotes. */
function isBoolean(value: unknown): boolean {
  return typeof value === "boolean" || value === "true" || value === "false";
}

function isProvider(value: unknown): value is Provider {
  return value === "github" || value === "gitlab" || value === "bitbucket" || value === "other";
}
