import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { lookAtPlugin } from "../../plugin/open/look-at-plugin.ts";
import type { Config } from "../../config/config.ts";
import { type InForce, pluginsInForce } from "../../sandbox/open/local-in-force.ts";
import { findPlugin } from "../../plugin/installed-plugin.ts";
import { type PluginSettings, pluginSettings } from "../../plugin/plugin/settings.ts";
import { canDoEverything, type Consent, wantedOf, wordsOf } from "./approve.ts";

/** A plugin that is run without having been added. */
export interface TriedPlugin {
  readonly settings: PluginSettings;
  /** What it may do, as one line. */
  readonly note: string;
}

export interface TryOptions {
  readonly cwd: string;
  readonly config: Pick<Config, "bus" | "data">;
  readonly consent: Consent & { readonly id?: string };
  readonly limits?: InForce;
}

/**
 * How to run a plugin that nobody has added: as it would run if everything that it declares were
 * approved. What can do everything needs a flag. With an id it is not asked what it declares.
 */
export async function triedPlugin(
  [where = "", ...more]: readonly string[],
  { cwd, config, consent, limits: known }: TryOptions,
): Promise<TriedPlugin> {
  const found = findPlugin(where, cwd);
  const limits = known ?? (await pluginsInForce(config));
  const manifest =
    consent.id === undefined ? await lookAtPlugin(found, config.data, limits) : { id: consent.id };
  const { id } = manifest;
  const [module] = found.args;
  const { permissions, why } = wantedOf(
    { manifest, limits, isScript: module !== undefined },
    consent,
  );
  const wants = visibleLine(wordsOf(id, permissions).join(", "));
  if (canDoEverything(permissions) && consent["allow-everything"] !== true) {
    const because = why === undefined ? "" : `, because ${why}`;
    const next = "Look at it, and add --allow-everything if you agree";
    throw new TrunklineError(
      "untrusted",
      `Cannot run '${id}': it would ${wants}${because}. ${next}.`,
    );
  }
  // Whoever writes a plugin adds tools before they are in its manifest.
  const provides = { ...permissions.provides, tools: ["*"], prompts: ["*"] };
  const given = { ...permissions, provides };
  const program = { id, binary: found.command, args: more, permissions: given };
  const settings = pluginSettings(module === undefined ? program : { ...program, module });
  const may = wants === "" ? "nothing outside its package" : wants;
  return { settings, note: `it may do only what it declares: ${may}` };
}
