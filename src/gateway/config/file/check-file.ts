import { TrunklineError } from "../../../base/errors.ts";
import { agentProblem } from "../check-agent.ts";
import { checkedValues } from "../check-layers.ts";
import type { ConfigInput, LoadedConfig } from "../config.ts";
import { userLayer } from "./files.ts";
import { loadConfig } from "../load.ts";
import { parseFile } from "./parse-file.ts";
import { readText } from "./read-text.ts";

/** Looks at one file by itself. Throws when it is wrong. */
export async function checkFile(path: string, env: NodeJS.ProcessEnv): Promise<void> {
  const text = readText(path);
  if (text === undefined) {
    throw new TrunklineError("config", `Cannot read configuration file '${path}': no such file`);
  }
  await checkedValues([userLayer(path, parseFile(path, text), env)]);
}

/** Looks at what the files, the environment and the options say together. */
export async function checkAll(input: ConfigInput): Promise<LoadedConfig> {
  const loaded = await loadConfig(input);
  const problem = agentProblem(loaded.config);
  if (problem === undefined) return loaded;
  const { where } = loaded.origins.get("agent") ?? { where: "agent" };
  throw new TrunklineError("config", `${where}: 'agent' ${problem}`);
}
