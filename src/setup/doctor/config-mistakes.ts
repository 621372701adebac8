import type { Problem } from "../../base/check.ts";
import type { Config } from "../../config/config.ts";
import type { ConfigValues } from "../../config/layer.ts";
import { type HookSettings, readHooks } from "../../hooks/hook.ts";
import { servingMistakes } from "../../server/access/serving.ts";
import { loginMistake, type UpstreamSettings } from "../../upstream/settings.ts";

/** Mistakes of a configuration that fits its schema otherwise, and that would be told later. */
export function furtherMistakes(values: ConfigValues): Problem[] {
  const { hooks = {}, toolHooks = {}, mcpServers = {}, serve = {} } = values as Partial<Checked>;
  const found = servingMistakes(serve).map(({ path, says }) => ({
    path: ["serve", ...path],
    says,
  }));
  for (const [key, settings] of [
    ["hooks", hooks],
    ["toolHooks", toolHooks],
  ] as const) {
    const source = key === "hooks" ? "user" : "gateway";
    readHooks(settings, source, (_, { path, why }) => {
      found.push({ path: [key, ...path], says: `cannot be used: ${why}` });
    });
  }
  for (const [name, settings] of Object.entries(mcpServers)) {
    const mistake = loginMistake(settings);
    if (mistake !== undefined) found.push({ path: ["mcpServers", name, "login"], says: mistake });
  }
  return found;
}

interface Checked {
  readonly hooks: HookSettings;
  readonly toolHooks: HookSettings;
  readonly serve: Partial<Config["serve"]>;
  readonly mcpServers: Readonly<Record<string, UpstreamSettings>>;
}
