import type { OxlintOverride } from "oxlint";

const WAISTS = ["tool", "session"];
const CAPABILITY = ["base", ...WAISTS, "git", "store"];
const DIALECT = ["base", "wire", "rpc", ...WAISTS];
const DIALECTS = ["protocol/acp", "protocol/bus", "protocol/juggler", "protocol/mcp"];
const CAPABILITIES = ["identity", "review", "agent", "run", "upstream", "plugin"];

/**
 * The layer map: each folder of src/, and what it may import beside itself. The linter enforces it.
 * A folder stands for all that is in it; a name that ends in `.ts` is one file.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  wire: ["base"],
  rpc: ["base", "wire/channel.ts"],
  tool: ["base"],
  session: ["base"],
  ...Object.fromEntries(DIALECTS.map((dialect) => [dialect, DIALECT])),
  git: ["base"],
  store: ["base"],
  sandbox: ["base"],
  identity: CAPABILITY,
  review: CAPABILITY,
  // These are also clients: of other people's agents, MCP servers and plugins.
  agent: [...CAPABILITY, "wire", "rpc", "protocol/acp"],
  upstream: [...CAPABILITY, "wire", "rpc", "protocol/mcp"],
  plugin: [...CAPABILITY, "wire", "rpc", "protocol/bus"],
  run: CAPABILITY,
  gateway: [
    ...["base", "wire", "rpc", ...WAISTS, ...DIALECTS],
    ...["git", "store", "sandbox", ...CAPABILITIES],
  ],
  // A command calls the capability that does its work; the gateway is for what has to be composed.
  cli: ["base", ...WAISTS, "git", "store", ...CAPABILITIES, "protocol/acp", "gateway"],
};

/** How many folders deep the files of a layer may lie; deeper ones may import nothing. */
const DEPTH = 4;

/** The map as rules of the linter, which knows an import by its text: hence a rule for each depth. */
export function layerRules(): OxlintOverride[] {
  return [
    forbid("src/**/*", ["../**"], "this folder is not in layers.ts: say there what it may import"),
    ...Object.entries(LAYERS).flatMap(([layer, allowed]) =>
      Array.from({ length: DEPTH }, (_, depth) => layerRule(layer, allowed, depth)),
    ),
  ];
}

function layerRule(layer: string, allowed: readonly string[], depth: number): OxlintOverride {
  const outside = `${"../".repeat(depth + 1)}**`;
  const src = "../".repeat(depth + layer.split("/").length);
  const exceptions = allowed.map((name) => `!${src}${name.endsWith(".ts") ? name : `${name}/**`}`);
  const message = `${layer}/ may import only: ${allowed.join(", ") || "itself"}`;
  return forbid(`src/${layer}/${"*/".repeat(depth)}*`, [outside, ...exceptions], message);
}

function forbid(files: string, group: string[], message: string): OxlintOverride {
  const patterns = [
    // A detour would hide where an import leads. First, since an exception below ends the search.
    { regex: String.raw`(?:^\.|[^.])/\.\./`, message: "write the path without detours" },
    { group, message },
  ];
  return { files: [`${files}.ts`], rules: { "no-restricted-imports": ["error", { patterns }] } };
}
