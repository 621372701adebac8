import type { OxlintOverride } from "oxlint";

const settingsOf = (part: string): string => `${part}/settings-schema.ts`;

const PARTS = {
  base: [],
  wire: ["base"],
  rpc: ["base", "wire/channel.ts"],
  // The two waists: the only interfaces between dialects and capabilities.
  tool: ["base", "config/schema/schema.gen.ts"],
  session: ["base"],
  // No dialect imports another.
  "protocol/mcp": ["base", "wire", "rpc", "tool"],
  "protocol/acp": ["base", "wire", "rpc", "session"],
  "protocol/juggler": ["base", "wire", "rpc", "tool"],
  "protocol/lsp": ["base", "wire", "rpc"],
  "protocol/bus": ["base", "wire", "tool"],
  // The stores of sessions and tasks fulfil the contracts of the waists.
  store: ["base", "session/store.ts", "tool/task-record.ts"],
  git: ["base"],
  sandbox: ["base"],
  hooks: ["base", "config/schema/schema.gen.ts"],
  // Capabilities do not import each other. Some also use a protocol as a client.
  identity: ["base", "tool", "git", "store", "config/schema/schema.gen.ts"],
  review: ["base", "tool", "git", "store"],
  agent: [
    ...["base", "wire", "rpc", "tool", "session", "protocol/acp", "git", "store", "hooks"],
    "config/schema/schema.gen.ts",
  ],
  authorship: ["base", "tool", "session", "git", "store", "review/anchor"],
  upstream: ["base", "wire", "rpc", "tool", "protocol/mcp", "config/schema/schema.gen.ts"],
  plugin: ["base", "wire", "rpc", "tool", "protocol/bus", "store", "config/schema/schema.gen.ts"],
  forge: ["base"],
  run: ["base", "session", "git", "store", "config/schema/schema.gen.ts"],
  worktree: ["base", "session", "git", "store"],
  fleet: ["base", "wire", "session", "store"],
  // The configuration, and the context with which a capability is opened.
  config: [
    ...["base", "wire", "rpc", "tool", "store", "server/telemetry/observers.ts"],
    // What each capability says of itself, and of its keys of the configuration.
    ...["agent", "fleet", "hooks", "plugin", "run", "session", "upstream"].map(settingsOf),
    ...["identity", "review", "server/access", "server/notify", "server/telemetry"].flatMap(
      (part) => [`${part}/capability.ts`, settingsOf(part)],
    ),
    ...["authorship/capability.ts", "identity/identity-commands.ts"],
    "identity/open/open-identities.ts",
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/**
 * Where a capability is opened from the configuration, and connected to the others that it works with.
 * These folders may import each other.
 */
const OPENING = [
  "agent",
  "fleet",
  "hooks",
  "identity",
  "plugin",
  "review",
  "run",
  "sandbox",
  "session",
  "upstream",
].map((part) => `${part}/open`);
const CAPABILITIES = [...Object.keys(PARTS), ...OPENING];
const SERVED = [...CAPABILITIES, "server"];

/**
 * The layer map: each folder of src/, and what it may import in addition to itself. The linter enforces
 * it, and a test compares the table in docs/ARCHITECTURE.md with it. A folder stands for everything in
 * it; a name that ends in `.ts` is one file.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  ...PARTS,
  ...Object.fromEntries(OPENING.map((folder) => [folder, CAPABILITIES])),
  server: CAPABILITIES,
  app: SERVED,
  setup: [...SERVED, "app", "cli/shell"],
  // A command calls the capability that does its work, or the app if it needs several parts.
  cli: [...SERVED, "app", "cli/shell", "setup"],
  // How commands are declared, parsed and printed.
  "cli/shell": ["base", "store", "config", "server", "app"],
  // The dashboard in the browser. It shares the shapes of the messages with the server, as types, and
  // the code of diffs, of Markdown and of forms, which uses nothing of Node.
  web: [
    "base/attempt.ts",
    "base/question-fields.ts",
    "base/text/markdown.ts",
    "base/text/patch-names.ts",
    "base/text/unified-diff.ts",
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
  const up = "../".repeat(depth + 1);
  const src = "../".repeat(depth + layer.split("/").length);
  const exceptions = allowed.flatMap((name) => {
    // A folder within another layer reaches that one without its name.
    if (layer.startsWith(`${name}/`)) return [`!${up}[a-z]*`, `!${up}[a-z]*/**`];
    return `!${src}${name.endsWith(".ts") ? name : `${name}/**`}`;
  });
  /** Layers inside of those that are allowed. */
  const forbidden = Object.keys(LAYERS).filter(
    (name) =>
      name !== layer &&
      !allowed.includes(name) &&
      [layer, ...allowed].some((outer) => name.startsWith(`${outer}/`)),
  );
  const again = forbidden.map((name) => {
    if (!name.startsWith(`${layer}/`)) return `${src}${name}/**`;
    return `${"../".repeat(depth) || "./"}${name.slice(layer.length + 1)}/**`;
  });
  const message = `${layer}/ may import only: ${allowed.join(", ") || "itself"}`;
  return forbid(
    `src/${layer}/${"*/".repeat(depth)}*`,
    [`${up}**`, ...exceptions, ...again],
    message,
  );
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
