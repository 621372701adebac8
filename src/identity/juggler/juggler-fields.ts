import type { IdentitySettings, Provider, Signing, TokenSource } from "../identity.ts";

/** RemoteJuggler's configuration; no field can be relied on. */
export type JugglerValues = Readonly<Record<string, unknown>>;

/** An identity while its fields are read; none is required yet. */
export type Draft = { -readonly [Key in keyof IdentitySettings]?: IdentitySettings[Key] };

/**
 * How one field of RemoteJuggler is read and written. A value that would be written differently
 * than it was read (a boolean in quotes, an empty list) is kept with the identity.
 */
export interface JugglerField {
  /** Path within the identity: `gpg`, `keyId`. */
  readonly path: readonly string[];
  readonly read: (value: unknown, draft: Draft) => void;
  readonly write: (settings: IdentitySettings) => unknown;
}

type TextKey = "host" | "sshHost" | "user" | "email" | "sshKey";

/** In RemoteJuggler `host` is the SSH alias and `hostname` the real host. */
export const JUGGLER_FIELDS: readonly JugglerField[] = [
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

/** A value that we cannot use is kept for the export. */
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
