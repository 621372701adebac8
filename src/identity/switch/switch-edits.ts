import { canonicalKey, configBoolean } from "../../git/config/config-list.ts";
import type { ConfigEdit } from "../../git/config/edit-config.ts";
import { isStronger } from "../../git/config/git-config.ts";
import { type ConfigTarget, isFrom } from "./config-target.ts";
import {
  type GitSetting,
  gitSettings,
  type GitSettingsOptions,
  MARK,
  OWN_KEYS,
  SETS,
} from "../git-settings.ts";
import { authorOf, type Identity } from "../identity.ts";
import type { Surroundings } from "../detect/surroundings.ts";

/** What a switch has to change in its target file. */
export function switchEdits(
  identity: Identity,
  target: ConfigTarget,
  around: Surroundings,
  options: GitSettingsOptions,
): ConfigEdit[] {
  const settings = gitSettings(identity, options);
  const named = new Set(settings.map(({ key }) => canonicalKey(key)));
  const ours = new Set(
    inTarget(SETS, target, around).map(({ value }) => canonicalKey(value ?? "")),
  );
  const isKept = (key: string): boolean => {
    return options.keepSigning === true && /^(?:user\.signingKey|gpg\.|commit\.|tag\.)/.test(key);
  };
  const own = settings.flatMap((setting) => settingEdit(setting, target, around, ours));
  const former = OWN_KEYS.filter((key) => {
    return ours.has(canonicalKey(key)) && !named.has(canonicalKey(key));
  });
  const sets = OWN_KEYS.filter((key) => {
    const isSet = own.some((edit) => edit.key === key && edit.values.length > 0);
    return isSet || (former.includes(key) && isKept(key));
  });
  const edits = [
    ...own,
    ...former.filter((key) => !isKept(key)).map((key) => ({ key, values: [] })),
    ...authorEdits(identity, around),
    { key: SETS, values: sets },
  ];
  return edits.map((edit) => {
    const isIncluded = around.config.all(edit.key).some((entry) => {
      return entry.scope === target.scope && !isFrom(entry, target, around);
    });
    return isIncluded && edit.values.length > 0 ? { ...edit, atEnd: true } : edit;
  });
}

function settingEdit(
  { key, values }: GitSetting,
  target: ConfigTarget,
  around: Surroundings,
  ours: ReadonlySet<string>,
): ConfigEdit[] {
  const mustNotSign = /^(?:commit|tag)\.gpgSign$/.test(key) && values[0] === "false";
  if (!mustNotSign) return [{ key, values }];
  // Only where something else would sign is there a need to say no.
  const others = around.config.all(key).filter((entry) => !isFrom(entry, target, around));
  const last = others.at(-1);
  if (last !== undefined && configBoolean(last.value) === true) return [{ key, values }];
  const own = inTarget(key, target, around).at(-1);
  if (own === undefined) return [];
  if (ours.has(canonicalKey(key))) return [{ key, values: [] }];
  return configBoolean(own.value) === true ? [{ key, values }] : [];
}

/** `author.email` and its like are stronger than `user.email`; mostly there are none. */
function authorEdits(identity: Identity, { config }: Surroundings): ConfigEdit[] {
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

function inTarget(key: string, target: ConfigTarget, around: Surroundings) {
  return around.config.all(key).filter((entry) => isFrom(entry, target, around));
}

const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  "user.name": ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"],
  "user.email": ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"],
  "core.sshCommand": ["GIT_SSH_COMMAND"],
};

/** What says otherwise and is stronger than the file that is written to. */
export function overrideNotes(
  edits: readonly ConfigEdit[],
  target: ConfigTarget,
  { config }: Surroundings,
  env: NodeJS.ProcessEnv,
): string[] {
  return edits.flatMap(({ key, values }) => {
    const wanted = values.at(-1);
    if (wanted === undefined || key === MARK || key === SETS) return [];
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
