import type { OxlintOverride } from "oxlint";

const PARTS = {
  base: [],
  wire: ["base"],
  rpc: ["base", "wire/channel.ts"],
  // The two waists: the only interfaces between dialects and capabilities.
  tool: ["base"],
  session: ["base"],
  // No dialect imports another.
  "protocol/mcp": ["base", "wire", "rpc", "tool"],
  "protocol/acp": ["base", "wire", "rpc", "session"],
  "protocol/juggler": ["base", "wire", "rpc", "tool"],
  "protocol/bus": ["base", "wire", "tool"],
  store: ["base"],
  git: ["base"],
  sandbox: ["base"],
  // Capabilities do not import each other. Some also use a protocol as a client.
  identity: ["base", "tool", "git", "store"],
  review: ["base", "tool", "git", "store"],
  agent: ["base", "wire", "rpc", "tool", "session", "protocol/acp", "git", "store"],
  upstream: ["base", "wire", "rpc", "tool", "protocol/mcp"],
  plugin: ["base", "wire", "rpc", "tool", "protocol/bus", "store"],
  forge: ["base"],
  run: ["base", "session", "git", "store"],
  worktree: ["base", "session", "git", "store"],
  fleet: ["base", "wire", "session", "store"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/**
 * The layer map: each folder of src/, and what it may import in addition to itself. The linter enforces
 * it, and a test compares the table in docs/ARCHITECTURE.md with it. A folder stands for everything in
 * it; a name that ends in `.ts` is one file.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  ...PARTS,
  gateway: Object.keys(PARTS),
  // A command calls the capability that does its work, or the gateway if it needs several parts.
  cli: [
    ...["base", "tool", "session", "protocol/acp", "git", "store"],
    ...["identity", "review", "agent", "upstream", "plugin", "run", "worktree", "fleet", "gateway"],
  ],
  // The dashboard in the browser. It shares the shapes of the messages with the server, as types.
  web: [
    "server/dashboard/api.ts",
    "server/dashboard/session-api.ts",
    "server/dashboard/fleet-api.ts",
  ],
};

/** How deep the folders of a layer may be nested; files in deeper ones may import nothing. */
const DEPTH = 4;

/** The map as linter rules. The linter matches the text of an import, so each depth needs its own rule. */
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
    // A detour would hide the target of an import. This rule is first, because an exception below ends the search.
    { regex: String.raw`(?:^\.|[^.])/\.\./`, message: "write the path without detours" },
    { group, message },
  ];
  return {
    files: [`${files}.{ts,tsx}`],
    rules: { "no-restricted-imports": ["error", { patterns }] },
  };
}
