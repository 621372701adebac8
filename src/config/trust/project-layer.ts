import { fileLayer, valuesOf } from "../file/files.ts";
import { type ProjectAccess, projectAccess } from "../schema/keys.ts";
import { isValues, type KeyPath, keyText, type ConfigValues } from "../layer.ts";
import type { ParsedFile } from "../file/parse-file.ts";
import { TrustStore } from "./trust.ts";

/** What a project's file sets, as far as it may, with a warning for each key that was ignored. */
export function projectLayer(
  path: string,
  text: string,
  file: ParsedFile,
  data: string,
  env: NodeJS.ProcessEnv,
) {
  const isTrusted = new TrustStore(data).isTrusted(path, text);
  const refused: (readonly [KeyPath, ProjectAccess])[] = [];
  const values = permitted(valuesOf(path, file), [], isTrusted, refused);
  const warnings = refused.map(([key, access]) => {
    const why =
      access === "never"
        ? "a project file cannot set it"
        : "this project file is not trusted. Read it, then run `trunkline config trust`";
    return `${path}:${file.keyPosition(key)}: '${keyText(key)}' is ignored: ${why}`;
  });
  const layer = fileLayer("project", path, file, values, env);
  return { layer, isTrusted, warnings: [...warnings, ...(layer.warnings ?? [])] };
}

/** The values that a project's file may set; the others go to `refused`. */
function permitted(
  values: ConfigValues,
  path: KeyPath,
  isTrusted: boolean,
  refused: (readonly [KeyPath, ProjectAccess])[],
): ConfigValues {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    const here = [...path, key];
    const access = projectAccess(here);
    if (access === "inside" && isValues(value)) {
      kept[key] = permitted(value, here, isTrusted, refused);
    } else if (access === "never" || (access === "trusted" && !isTrusted)) {
      refused.push([here, access]);
    } else kept[key] = value;
  }
  return kept;
}
