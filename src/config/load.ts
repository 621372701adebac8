import { dirname } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { holdSecrets } from "../base/text/mask.ts";
import {
  type Config,
  type ConfigInput,
  type ConfigSource,
  defaultConfig,
  type LoadedConfig,
} from "./config.ts";
import { checkData } from "./data-folder.ts";
import { environmentLayer } from "./environment.ts";
import { readText, userLayer } from "./file/files.ts";
import type { ParsedFile } from "./file/parse-file.ts";
import { flagsLayer } from "./flags.ts";
import {
  checkedValues,
  formerNames,
  type ConfigLayer,
  mergeValues,
  originsOf,
  type ConfigValues,
} from "./layer.ts";
import { defaultData, findProjectFile, userFile } from "./locations.ts";

/**
 * The configuration in force: options, then the environment, then the project's file, then the
 * user's, then what is built in. Throws at the first source that is wrong, unless only an MCP server is.
 *
 * Every `trunkline mcp` that an editor starts waits for it. Where nobody has configured anything, it
 * loads nothing but itself.
 */
export async function loadConfig(input: ConfigInput): Promise<LoadedConfig> {
  const { cwd, env } = input;
  const files: ConfigSource[] = [];
  const flags = flagsLayer(input);
  const { layer: environment, warnings: strays } = await environmentLayer(cwd, env);
  const warnings = [...strays];
  const layers: ConfigLayer[] = [];

  const user = readUserFile(input);
  files.push({ kind: "user", path: user.path, isFound: user.text !== undefined });
  if (user.text !== undefined) {
    const layer = userLayer(user.path, await parsed(user.path, user.text), env);
    warnings.push(...(layer.warnings ?? []));
    layers.push(layer);
  }
  const data = await dataFolder([...layers, environment, flags], env);

  const projectPath = input.ignoreProject ? undefined : findProjectFile(cwd);
  const projectText =
    projectPath === undefined ? undefined : readText(projectPath, dirname(projectPath));
  if (projectPath !== undefined && projectText !== undefined) {
    const { projectLayer } = await import("./trust/project-layer.ts");
    const file = await parsed(projectPath, projectText);
    const project = projectLayer(projectPath, projectText, file, data, env);
    files.push({ kind: "project", path: projectPath, isFound: true, isTrusted: project.isTrusted });
    warnings.push(...project.warnings);
    layers.push(project.layer);
  }
  layers.push(environment, flags);
  warnings.push(...layers.flatMap(formerNames));

  const leaveOut = (warning: string): void => {
    warnings.push(warning);
  };
  const { strict } = input;
  const values = await checkedValues(layers, strict === undefined ? leaveOut : undefined, strict);
  const config = mergeValues(
    defaultConfig(data) as unknown as ConfigValues,
    values,
  ) as unknown as Config;
  holdSecrets(env);
  holdSecrets(config);
  return {
    config,
    warnings,
    files,
    // Computed on demand: a start does not need them.
    get origins() {
      return originsOf(config, layers);
    },
  };
}

/** Throws with every mistake of the file. Most people have none, so the parser is loaded here. */
async function parsed(path: string, text: string): Promise<ParsedFile> {
  const { parseFile } = await import("./file/parse-file.ts");
  return parseFile(path, text);
}

function readUserFile(input: ConfigInput): { path: string; text: string | undefined } {
  const { path, namedBy } = userFile(input);
  const text = readText(path);
  if (text === undefined && namedBy !== undefined) {
    const message = `Cannot read configuration file '${path}', named by ${namedBy}: no such file`;
    throw new TrunklineError("config", message);
  }
  return { path, text };
}

/** The data folder of the strongest layer that sets it. A wrong value is refused by the check. */
export async function dataFolder(
  layers: readonly ConfigLayer[],
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const { values } = layers.findLast((layer) => layer.values.data !== undefined) ?? {};
  const data = typeof values?.data === "string" ? values.data : defaultData(env);
  if (data.startsWith("/proc")) checkData(data);
  return data;
}
