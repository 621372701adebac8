import type { LoadedConfig } from "../../gateway/config/config.ts";
import { Log } from "../../base/log.ts";
import { ModelCommands } from "../../agent/models/model-commands.ts";
import type { Finding } from "./doctor.ts";

const what = "Models";

/** What the built-in agent would think with. */
export async function checkModels(
  { config }: LoadedConfig,
  env: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  // What goes wrong is said here, and not in the log as well.
  const log = new Log("error");
  const commands = new ModelCommands({ settings: config.models, env, log });
  const { models, unanswered } = await commands.list();
  const first = models.find(({ isDefault }) => isDefault)?.id ?? "offline";
  const { default: wanted } = config.models;
  const findings = Object.entries(unanswered).map(([provider, why]): Finding => {
    const next = "Check its address and its key.";
    return { state: "warn", what, says: `${provider} has not said what it has: ${why}`, next };
  });
  if (wanted !== undefined && wanted !== first) {
    const says = `\`models.default\` is ${wanted}, which is not there; sessions begin with ${first}`;
    findings.push({ state: "warn", what, says, next: "`trunkline models list` shows what is." });
  } else if (models.length === 1) {
    const says = "no language model: the agent does what its slash commands say";
    findings.push({ state: "ok", what, says });
  } else if (first === "offline" && models.some(({ isFound }) => isFound)) {
    const says = "there are some on this machine, and none is chosen";
    findings.push({ state: "ok", what, says, next: "Choose one with `models.default`." });
  } else findings.push({ state: "ok", what, says: `sessions begin with ${first}` });
  return findings;
}
