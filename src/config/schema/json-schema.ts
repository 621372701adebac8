import { schemas } from "./schema.ts";

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

/** For us alone. */
const ANNOTATIONS = ["x-project", "x-form"];

/** Without our own annotations, and with references that others understand. */
function publish(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(publish);
  if (typeof value !== "object" || value === null) return value;
  const published: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (ANNOTATIONS.includes(key)) continue;
    published[key] = key === "$ref" ? `#/$defs/${String(item).slice(1)}` : publish(item);
  }
  return published;
}
