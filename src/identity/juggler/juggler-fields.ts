import type { IdentitySettings, Provider, Signing, TokenSource } from "../identity.ts";

/** RemoteJuggler's configuration, of which anything may be anything. */
export type JugglerValues = Readonly<Record<string, unknown>>;

/** What can be made of an identity of RemoteJuggler's: all but what it must have. */
export type Draft = { -readonly [Key in keyof IdentitySettings]?: IdentitySettings[Key] };

/**
 * One field of RemoteJuggler's: how it is read, and written again. What is written differently from
 * what was read (a boolean in quotes, an empty list) is kept beside the identity.
 */
export interface JugglerField {
  /** From the identity: `gpg`, `keyId`. */
  readonly path: readonly string[];
  readonly read: (value: unknown, draft: Draft) => void;
  readonly write: (settings: IdentitySettings) => unknown;
}

type TextKey = "host" | "sshHost" | "user" | "email" | "sshKey";

/** Their `host` is the name that ssh knows, and `hostname` is where it leads. */
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
      // They write `gpg`, which git refuses.
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

/** What does not fit what we know under that name is kept as it is, and not used. */
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

/** Whatever is said of signing makes it OpenPGP's, unless it says otherwise. */
function sign(draft: Draft, more: Partial<Signing>): void {
  draft.signing = { format: "openpgp", ...draft.signing, ...more };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** With and without quotes: the original loses one of the two. */
function isBoolean(value: unknown): boolean {
  return typeof value === "boolean" || value === "true" || value === "false";
}

function isProvider(value: unknown): value is Provider {
  return value === "github" || value === "gitlab" || value === "bitbucket" || value === "other";
}
