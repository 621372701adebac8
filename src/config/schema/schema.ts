import { group, type Setting, type Settings } from "../../base/capability/settings.ts";
import { agents } from "../../agent/settings-schema.ts";
import { fleet } from "../../fleet/settings-schema.ts";
import { hooks } from "../../hooks/settings-schema.ts";
import { identities } from "../../identity/settings-schema.ts";
import { plugins } from "../../plugin/settings-schema.ts";
import { review } from "../../review/settings-schema.ts";
import { runs } from "../../run/settings-schema.ts";
import { serve } from "../../server/access/settings-schema.ts";
import { notifications } from "../../server/notify/settings-schema.ts";
import { telemetry } from "../../server/telemetry/settings-schema.ts";
import { sessions } from "../../session/settings-schema.ts";
import { policy } from "../../tool/settings-schema.ts";
import { servers } from "../../upstream/settings-schema.ts";
import { core, limits } from "../settings-schema.ts";

/** In the order of the documents. */
export const PARTS = [
  ...[core, serve, telemetry, sessions, agents, hooks, servers, policy, plugins, review],
  ...[identities, runs, fleet, notifications, limits],
];

/** The configuration as it is written in a file. A key is declared once. */
const ALL = PARTS.flatMap(({ settings }): [string, Setting][] => Object.entries(settings));
const CONFIG_FILE = group(Object.fromEntries(ALL), {
  "x-name": "ConfigFile",
  description: "Configuration of Trunkline.",
});

/** Each setting that has a name, with references to the others. */
export const schemas: Settings & { readonly ConfigFile: Setting } = shapesOf(CONFIG_FILE);

function shapesOf(root: Setting): Settings & { readonly ConfigFile: Setting } {
  const shapes: Record<string, Setting> & { ConfigFile: Setting } = { ConfigFile: root };
  const refer = (setting: Setting): Setting => {
    const { "x-name": name, ...own } = setting;
    if (name !== undefined) {
      shapes[name] ??= {};
      shapes[name] = inside(own);
      return { $ref: `#${name}` };
    }
    return inside(own);
  };
  const inside = (setting: Setting): Setting => {
    const { properties, items, additionalProperties: values, anyOf } = setting;
    return {
      ...setting,
      ...(properties && { properties: mapValues(properties, refer) }),
      ...(items && { items: refer(items) }),
      ...(values && { additionalProperties: refer(values) }),
      ...(anyOf && { anyOf: anyOf.map(refer) }),
    };
  };
  refer(root);
  return shapes;
}

function mapValues(settings: Settings, change: (setting: Setting) => Setting): Settings {
  return Object.fromEntries(Object.entries(settings).map(([key, one]) => [key, change(one)]));
}

/** The configuration's schema as other programs read it (JSON Schema, draft 2020-12). */
export function configJsonSchema(): object {
  const { ConfigFile, ...others } = schemas;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "trunkline-config.schema.json",
    title: "Trunkline configuration",
    ...(publish(ConfigFile) as object),
    $defs: publish(others),
  };
}

/** Without our own annotations, and with references that others understand. */
function publish(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(publish);
  if (typeof value !== "object" || value === null) return value;
  const published: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (ANNOTATIONS.has(key)) continue;
    published[key] = key === "$ref" ? `#/$defs/${String(item).slice(1)}` : publish(item);
  }
  return published;
}

const ANNOTATIONS: ReadonlySet<string> = new Set(["x-project", "x-form", "x-path"]);
