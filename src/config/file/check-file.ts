import { TrunklineError } from "../../base/errors.ts";
import { suggest } from "../../base/text/suggest.ts";
import { BUILT_IN, type Config, type ConfigInput, type LoadedConfig } from "../config.ts";
import { readText, userLayer } from "./files.ts";
import { parseFile } from "./parse-file.ts";
import { checkedValues } from "../layer.ts";
import { loadConfig } from "../load.ts";

/** Checks one file by itself. Throws if it has a mistake, or one that `further` finds. */
export async function checkFile(
  path: string,
  env: NodeJS.ProcessEnv,
  further: ConfigInput["strict"] = () => [],
): Promise<void> {
  const text = readText(path);
  if (text === undefined) {
    throw new TrunklineError("config", `Cannot read configuration file '${path}': no such file`);
  }
  await checkedValues([userLayer(path, parseFile(path, text), env)], undefined, further);
}

/** Checks the configuration that files, environment and options result in. */
export async function checkAll(
  input: ConfigInput,
  further: ConfigInput["strict"] = () => [],
): Promise<LoadedConfig> {
  const loaded = await loadConfig({ ...input, strict: further });
  const problem = agentProblem(loaded.config);
  if (problem === undefined) return loaded;
  const { where } = loaded.origins.get("agent.name") ?? { where: "agent" };
  throw new TrunklineError("config", `${where}: 'agent' ${problem}`);
}

/**
 * The problem with the configured agent, if there is one. It is not checked at the start: a wrong agent
 * matters only once a session is opened.
 */
export function agentProblem({ agent, agents }: Config): string | undefined {
  const names = [BUILT_IN, ...Object.keys(agents)];
  if (names.includes(agent.name)) return undefined;
  const [near] = suggest(agent.name, names);
  const hint = near === undefined ? "" : `; did you mean '${near}'?`;
  return `must be one of: ${names.join(", ")}${hint}`;
}
