import {
  type AskedManifest,
  askManifest,
  declaredPermissions,
  findPlugin,
} from "../../plugin/installed-plugin.ts";
import type { PluginPermissions } from "../../plugin/plugin/permission-flags.ts";
import { type PluginSettings, pluginSettings } from "../../plugin/plugin/settings.ts";

/** A plugin that is run without having been added. */
export interface TriedPlugin {
  readonly settings: PluginSettings;
  /** What it may do, as one line. */
  readonly note: string;
}

/**
 * How to run a plugin that nobody has added: as it would run if everything that it declares were
 * approved. With an id it is not asked what it declares.
 */
export async function triedPlugin(
  [where = "", ...more]: readonly string[],
  cwd: string,
  id: string | undefined,
): Promise<TriedPlugin> {
  const { command, args: [module, ...none] = [] } = findPlugin(where, cwd);
  const first = module === undefined ? [] : [module, ...none];
  const manifest: AskedManifest =
    id === undefined ? await askManifest({ command, args: first }) : { id };
  const given = { id: manifest.id, binary: command };
  if (module === undefined || id !== undefined) {
    const why = id === undefined ? "declares no" : "was not asked, because of --id, for its";
    const settings = pluginSettings({ ...given, args: [...first, ...more] });
    return { settings, note: `it ${why} permissions, and runs with all of yours` };
  }
  const asModule = { ...given, module, args: [...none, ...more] };
  const permissions = declaredPermissions(manifest);
  if (permissions === undefined) {
    const note = "it declares no permissions, and runs with all of yours";
    return { settings: pluginSettings(asModule), note };
  }
  const settings = pluginSettings({ ...asModule, permissions });
  return { settings, note: `it may do only what it declares: ${words(permissions)}` };
}

function words(permissions: PluginPermissions): string {
  const { tools = [], read = [], write = [], run = false, hosts = [] } = permissions;
  const wants = [
    ...tools.map((tool) => `call '${tool}'`),
    ...read.map((path) => `read ${path}`),
    ...write.map((path) => `write ${path}`),
    ...hosts.map((host) => `reach ${host}`),
    ...(run ? ["start programs"] : []),
  ];
  return wants.length === 0 ? "nothing outside its package" : wants.join(", ");
}
