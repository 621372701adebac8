import { lstatSync } from "node:fs";

import { TrunklineError } from "../../base/errors.ts";
import type { ConfigInput, LoadedConfig, OriginKind } from "../config.ts";
import { environmentLayer } from "../environment.ts";
import { type ConfigFileEdit, type DecideEdits, editConfigFile } from "../file/edit-file.ts";
import { fileLayer, readText, userLayer, valuesOf } from "../file/files.ts";
import { parseFile } from "../file/parse-file.ts";
import { flagsLayer } from "../flags.ts";
import {
  checkedValues,
  isValues,
  type KeyPath,
  keyText,
  type ConfigLayer,
  leaves,
} from "../layer.ts";
import { dataFolder, loadConfig } from "../load.ts";
import { projectFilePlace, userFile } from "../locations.ts";
import { isWithin, projectAccess } from "../schema/keys.ts";
import { TrustStore } from "../trust/trust.ts";

/** Whose file is changed. */
export type EditedKind = "user" | "project";

export interface EditedConfig {
  readonly file: string;
  readonly kind: EditedKind;
  readonly isCreated: boolean;
  readonly isChanged: boolean;
  /** Where the text before is kept. */
  readonly backup?: string;
  /** Reasons why the change may have no effect, as messages for the user. */
  readonly notes: readonly string[];
}

/**
 * Changes the user's configuration file, or the project's. The result is checked as it is when it is
 * loaded, before it is written.
 */
export async function editConfig(
  input: ConfigInput,
  kind: EditedKind,
  decide: DecideEdits,
): Promise<EditedConfig> {
  const { cwd, env } = input;
  const { path: own } = userFile(input);
  const file = kind === "user" ? own : projectFilePlace(cwd);
  if (kind === "project") refuseLink(file);
  const user = layerOf("user", own, readText(own) ?? "", env);
  const stronger = [(await environmentLayer(cwd, env)).layer, flagsLayer(input)];
  const data = await dataFolder([user, ...stronger], env);
  let edits: readonly ConfigFileEdit[] = [];
  const { before, after, backup } = await editConfigFile(
    file,
    (now) => {
      edits = decide(now);
      if (kind === "project") for (const { path } of edits) refuseForProjects(path);
      return edits;
    },
    {
      env,
      data,
      // A project's file is shared with everybody who has the project.
      mode: kind === "user" ? 0o600 : 0o666,
      check: async (text) => {
        const layer = withWords(layerOf(kind, file, text, env), edits);
        // A project's file may set a part of what the user's began.
        await checkedValues(kind === "user" ? [layer] : [user, layer]);
        // An unusable data folder would stop every command, including the one that corrects it.
        if (kind === "user") await dataFolder([layer, ...stronger], env);
      },
    },
  );
  const isChanged = after !== (before ?? "");
  if (kind === "project" && isChanged) await keepTrust(new TrustStore(data), file, before, after);
  return {
    file,
    kind,
    isCreated: before === undefined && isChanged,
    isChanged,
    ...(backup === undefined ? {} : { backup }),
    notes: await notesOn(input, kind, file, edits),
  };
}

function layerOf(
  kind: EditedKind,
  file: string,
  text: string,
  env: NodeJS.ProcessEnv,
): ConfigLayer {
  const parsed = parseFile(file, text);
  if (kind === "user") return userLayer(file, parsed, env);
  return fileLayer("project", file, parsed, valuesOf(file, parsed), env);
}

/** The layer, with complaints about the edits that do not name a position in an unwritten text. */
function withWords(layer: ConfigLayer, edits: readonly ConfigFileEdit[]): ConfigLayer {
  return {
    ...layer,
    complain: (path, says) => {
      // A missing value has no position, so the object around it is named.
      const place = says === "is missing" ? path.slice(0, -1) : path;
      const edit = edits.find((each) => isWithin(place, each.path) || isWithin(each.path, place));
      if (edit === undefined) return layer.complain(path, says);
      const verb = edit.value === undefined ? "unset" : "set";
      const key = keyText(edit.path);
      const about = keyText(path) === key ? "it" : `'${keyText(path)}'`;
      return new TrunklineError(
        "usage",
        `Cannot ${verb} '${key}': ${about} ${says}${says.endsWith("?") ? "" : "."}`,
      );
    },
  };
}

/** A link in a strange project may lead to a file of the user that means something else. */
function refuseLink(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  const says = "it is a link. Change the file that it leads to";
  throw new TrunklineError("config", `Cannot change the project's file '${file}': ${says}.`);
}

function refuseForProjects(path: KeyPath): void {
  if (projectAccess(path) !== "never") return;
  const says = "a project file cannot set it. Leave out --project to set it in your own file";
  throw new TrunklineError("usage", `Cannot set '${keyText(path)}' for the project: ${says}.`);
}

/**
 * What the user changes by a command of ours does not end the trust in a file, and a file that is
 * written by it from the first character on is trusted from the start.
 */
async function keepTrust(
  store: TrustStore,
  file: string,
  before: string | undefined,
  after: string,
): Promise<void> {
  if (before === undefined || store.isTrusted(file, before)) await store.trust(file, after);
}

/** Reasons why the change has no effect, from the configuration as it is loaded afterwards. */
async function notesOn(
  input: ConfigInput,
  kind: EditedKind,
  file: string,
  edits: readonly ConfigFileEdit[],
): Promise<string[]> {
  let loaded: LoadedConfig;
  try {
    loaded = await loadConfig(input);
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    return [`The configuration cannot be used here: ${error.message}`];
  }
  const ignored = loaded.warnings.filter((warning) => warning.startsWith(`${file}:`));
  return [...ignored, ...edits.flatMap((edit) => hiddenBy(loaded, kind, edit))];
}

/** The weakest first. */
const KINDS: readonly OriginKind[] = ["default", "user", "project", "environment", "flag"];

/** What else sets the same value, and is stronger, or takes effect where a value was removed. */
function hiddenBy({ origins }: LoadedConfig, kind: EditedKind, edit: ConfigFileEdit): string[] {
  const { path, value } = edit;
  const parts = isValues(value) ? Array.from(leaves(value, path), ([part]) => part) : [path];
  const keys = (parts.length === 0 ? [path] : parts).map(keyText);
  const weakest = value === undefined ? "default" : kind;
  const found = new Map<string, string>();
  for (const [key, { kind: by, where }] of origins) {
    const isIt = keys.some((each) => key === each || key.startsWith(`${each}.`));
    const isStronger = KINDS.indexOf(by) > KINDS.indexOf(weakest);
    if (isIt && isStronger && !found.has(where)) found.set(where, key);
  }
  return Array.from(found, ([where, key]) =>
    value === undefined
      ? `'${key}' is still set: ${where}`
      : `'${key}' keeps its value, since a stronger source sets it: ${where}`,
  );
}
