import type { LoadedConfig } from "../../../config/config.ts";
import { openKeys } from "../../../identity/open/open-secret-store.ts";
import { Log } from "../../../base/log.ts";
import { ModelCommands } from "../../../agent/models/model-commands.ts";
import type { Finding } from "../finding.ts";

const what = "Models";

/** Which language model new sessions of the built-in agent use. */
export async function checkModels(
  { config }: LoadedConfig,
  env: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  // Failures are reported as findings, so they need not be logged as well.
  const log = new Log("error");
  const open = openKeys(config.data, env);
  const commands = new ModelCommands({ settings: config.models, env, log, open });
  const { models, unanswered } = await commands.list();
  const first = models.find(({ isDefault }) => isDefault)?.id ?? "offline";
  const { default: wanted } = config.models;
  const findings = Object.entries(unanswered).map(([provider, why]): Finding => {
    const next = "Check its address and its key.";
    return { state: "warn", what, says: `${provider} did not list its models: ${why}`, next };
  });
  if (wanted !== undefined && wanted !== first) {
    const says = `\`models.default\` is ${wanted}, which does not exist; sessions start with ${first}`;
    findings.push({ state: "warn", what, says, next: "`trunkline models list` lists the models." });
  } else if (models.length === 1) {
    const says = "no language model; the built-in agent runs slash commands only";
    findings.push({ state: "ok", what, says });
  } else if (first === "offline" && models.some(({ isFound }) => isFound)) {
    const says = "found some on this machine, but none is chosen";
    findings.push({ state: "ok", what, says, next: "Choose one with `models.default`." });
  } else findings.push({ state: "ok", what, says: `sessions start with ${first}` });
  return findings;
}
