import { canonicalKey, configBoolean, isStronger } from "../../git/config/git-config.ts";
import type { ConfigEdit } from "../../git/config/edit-config.ts";
import { type ConfigTarget, isFrom } from "./config-target.ts";
import {
  type GitSetting,
  gitSettings,
  type GitSettingsOptions,
  IDENTITY_KEY,
  OPTIONAL_KEYS,
  SIGNERS_KEY,
  SWITCHED_KEYS,
} from "../git-settings.ts";
import { authorOf, type Identity } from "../identity.ts";
import type { GitContext } from "../detect/git-context.ts";

/** The edits of a switch in its target file. */
export function switchEdits(
  identity: Identity,
  target: ConfigTarget,
  context: GitContext,
  options: GitSettingsOptions,
): ConfigEdit[] {
  const settings = gitSettings(identity, options);
  const named = new Set(settings.map(({ key }) => canonicalKey(key)));
  const ours = new Set(
    inTarget(SWITCHED_KEYS, target, context).map(({ value }) => canonicalKey(value ?? "")),
  );
  const isKept = (key: string): boolean => {
    return options.keepSigning === true && /^(?:user\.signingKey|gpg\.|commit\.|tag\.)/.test(key);
  };
  const own = settings.flatMap((setting) => settingEdit(setting, target, context, ours));
  const former = OPTIONAL_KEYS.filter((key) => {
    return ours.has(canonicalKey(key)) && !named.has(canonicalKey(key));
  });
  const sets = OPTIONAL_KEYS.filter((key) => {
    const isSet = own.some((edit) => edit.key === key && edit.values.length > 0);
    return isSet || (former.includes(key) && isKept(key));
  });
  const edits = [
    ...own,
    ...former.filter((key) => !isKept(key)).map((key) => ({ key, values: [] })),
    ...authorEdits(identity, context),
    { key: SWITCHED_KEYS, values: sets },
  ];
  return edits.map((edit) => {
    const isIncluded = context.config.all(edit.key).some((entry) => {
      return entry.scope === target.scope && !isFrom(entry, target, context);
    });
    return isIncluded && edit.values.length > 0 ? { ...edit, atEnd: true } : edit;
  });
}

function settingEdit(
  { key, values }: GitSetting,
  target: ConfigTarget,
  context: GitContext,
  ours: ReadonlySet<string>,
): ConfigEdit[] {
  // The person's own list of signers stays.
  if (key === SIGNERS_KEY && (context.config.get(key) ?? values[0]) !== values[0]) return [];
  const mustNotSign = /^(?:commit|tag)\.gpgSign$/.test(key) && values[0] === "false";
  if (!mustNotSign) return [{ key, values }];
  // `false` is only needed if another file turns signing on.
  const others = context.config.all(key).filter((entry) => !isFrom(entry, target, context));
  const last = others.at(-1);
  if (last !== undefined && configBoolean(last.value) === true) return [{ key, values }];
  const own = inTarget(key, target, context).at(-1);
  if (own === undefined) return [];
  if (ours.has(canonicalKey(key))) return [{ key, values: [] }];
  return configBoolean(own.value) === true ? [{ key, values }] : [];
}

/** `author.email` and the like override `user.email`; they are rarely set. */
function authorEdits(identity: Identity, { config }: GitContext): ConfigEdit[] {
  const { name, email } = authorOf(identity);
  const wanted = { name, email };
  return (["author", "committer"] as const).flatMap((who) =>
    (["name", "email"] as const).flatMap((what) => {
      const key = `${who}.${what}`;
      const now = config.get(key);
      return now === undefined || now === wanted[what] ? [] : [{ key, values: [wanted[what]] }];
    }),
  );
}

function inTarget(key: string, target: ConfigTarget, context: GitContext) {
  return context.config.all(key).filter((entry) => isFrom(entry, target, context));
}

const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  "user.name": ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"],
  "user.email": ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"],
  "core.sshCommand": ["GIT_SSH_COMMAND"],
};

/** Notes on variables and stronger files that override the edits. */
export function overrideNotes(
  edits: readonly ConfigEdit[],
  target: ConfigTarget,
  { config }: GitContext,
  env: NodeJS.ProcessEnv,
): string[] {
  return edits.flatMap(({ key, values }) => {
    const wanted = values.at(-1);
    if (wanted === undefined || key === IDENTITY_KEY || key === SWITCHED_KEYS) return [];
    const notes = (VARIABLES[key] ?? []).flatMap((variable) => {
      const value = env[variable];
      if (value === undefined || value === "" || value === wanted) return [];
      return [`The variable ${variable} overrides ${key} with another value.`];
    });
    const last = config.last(key);
    if (last !== undefined && isStronger(last.scope, target.scope) && last.value !== wanted) {
      const where = last.origin.replace(/^file:/, "");
      notes.push(
        `${key} is also set in the ${last.scope} configuration (${where}), which overrides it.`,
      );
    }
    return notes;
  });
}
