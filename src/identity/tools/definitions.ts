import type { ToolDefinition } from "../../tool/tool.ts";

type Property = Readonly<Record<string, unknown>>;

function text(description: string, more: Property = {}): Property {
  return { type: "string", description, ...more };
}

function flag(description: string, otherwise: boolean): Property {
  return { type: "boolean", description, default: otherwise };
}

function object(properties: Readonly<Record<string, Property>>, required?: readonly string[]) {
  return { type: "object", properties, ...(required && { required }) } as const;
}

/** Names and inputs are those of RemoteJuggler, letter for letter: programs rely on them. */
export const JUGGLER_TOOLS = [
  {
    name: "juggler_list_identities",
    title: "List git identities",
    description:
      "List all configured git identities with their providers (GitLab, GitHub, Bitbucket, etc.). Optionally filter by provider and include credential availability status.",
    inputSchema: object({
      provider: text("Filter identities by provider type. Use 'all' or omit for all providers.", {
        enum: ["gitlab", "github", "bitbucket", "all"],
      }),
      includeCredentialStatus: flag(
        "Include credential availability status (keychain, env, CLI) for each identity",
        false,
      ),
    }),
    annotations: { readOnlyHint: true },
  },
  {
    name: "juggler_detect_identity",
    title: "Detect the identity of a repository",
    description:
      "Detect the git identity for a repository based on its remote URL. Analyzes SSH host aliases, gitconfig URL rewrites, and organization paths to determine the appropriate identity.",
    inputSchema: object({
      repoPath: text(
        "Path to the git repository. Defaults to current working directory if not specified.",
      ),
    }),
    annotations: { readOnlyHint: true },
  },
  {
    name: "juggler_switch",
    title: "Switch the git identity",
    description:
      "Switch to a different git identity context. Sets author, ssh key, credential helper and signing of the work tree or repository; `trunkline identity undo` puts everything back.",
    inputSchema: object(
      {
        identity: text("Identity name to switch to (e.g., 'personal', 'work', 'github-personal')"),
        setRemote: flag("Update git remote URL to match the identity's SSH host alias", true),
        configureGPG: flag("Configure GPG signing using the identity's GPG key", true),
        repoPath: text("Path to git repository. Defaults to current working directory."),
      },
      ["identity"],
    ),
    annotations: { destructiveHint: false, idempotentHint: true },
  },
  {
    name: "juggler_status",
    title: "Show the current git identity",
    description:
      "Get the current git identity context, authentication status, GPG configuration, and recent switch history. Provides a comprehensive view of the current identity state.",
    inputSchema: object({
      repoPath: text("Path to git repository for context. Defaults to current working directory."),
      verbose: flag(
        "Include additional details like SSH key fingerprints and credential sources",
        false,
      ),
    }),
    annotations: { readOnlyHint: true },
  },
  {
    name: "juggler_validate",
    title: "Check that an identity works",
    description:
      "Validate SSH key connectivity and credential availability for an identity. Tests the SSH connection to the provider and verifies token accessibility.",
    inputSchema: object(
      {
        identity: text("Identity name to validate (e.g., 'personal', 'work')"),
        checkGPG: flag("Also verify GPG key exists and is registered with the provider", false),
        testAuth: flag("Test authentication by making an API call to the provider", true),
      },
      ["identity"],
    ),
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: "juggler_store_token",
    title: "Store a token",
    description:
      "Store a token in the system keychain, or in an encrypted file where there is none, for an identity. The token will be used for git over HTTPS and for the provider's API.",
    inputSchema: object(
      {
        identity: text("Identity name to store the token for"),
        token: text("The access token to store (GitLab/GitHub personal access token)"),
      },
      ["identity", "token"],
    ),
    annotations: { destructiveHint: true, idempotentHint: true },
  },
  {
    name: "juggler_sync_config",
    title: "Sync the SSH and git configuration",
    description:
      "Write managed blocks to the person's SSH config and gitconfig, so that the identities' SSH hosts and folders work by themselves. Everything else in those files stays as it is.",
    inputSchema: object({
      force: flag("Force sync even if no changes detected", false),
      dryRun: flag("Show what would be changed without making changes", false),
    }),
    annotations: { destructiveHint: false, idempotentHint: true },
  },
  {
    name: "juggler_gpg_status",
    title: "Check that commits can be signed",
    description:
      "Check GPG/SSH signing readiness including hardware token (YubiKey) status. Returns whether signing is possible, touch requirements, and actionable guidance for agents.",
    inputSchema: object({
      identity: text(
        "Identity to check signing status for. If omitted, checks current repository context.",
      ),
      repoPath: text("Path to git repository for context. Defaults to current working directory."),
    }),
    annotations: { readOnlyHint: true },
  },
  {
    name: "juggler_token_verify",
    title: "Verify stored tokens",
    description:
      "Verify that stored tokens are valid by making a test API call to the provider. Returns token status, scopes, and expiry information.",
    inputSchema: object({
      identity: text("Identity name to verify token for. If omitted, verifies current identity."),
    }),
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: "juggler_token_get",
    title: "Show a token, masked",
    description:
      "Show that a token is stored for an identity, and where. Returns the token masked (first 4 and last 4 chars visible); the token itself is never returned.",
    inputSchema: object({ identity: text("Identity name to get token for") }, ["identity"]),
    annotations: { readOnlyHint: true },
  },
  {
    name: "juggler_token_clear",
    title: "Remove a token",
    description: "Remove a stored token for an identity from the keychain or the encrypted file.",
    inputSchema: object({ identity: text("Identity name to clear token for") }, ["identity"]),
    annotations: { destructiveHint: true, idempotentHint: true },
  },
  {
    name: "juggler_setup",
    title: "Set up identities",
    description:
      "Run the first-time setup. Finds SSH hosts, GPG keys and a RemoteJuggler configuration, and makes identities of them. Use mode='auto' for non-interactive setup suitable for AI agents.",
    inputSchema: object({
      mode: text(
        "Setup mode: auto (non-interactive, recommended for agents), status (read-only check), import_ssh (SSH hosts only), import_gpg (GPG keys only). Default: auto",
        { enum: ["auto", "status", "import_ssh", "import_gpg"], default: "auto" },
      ),
      force: flag("Overwrite existing configuration if present", false),
    }),
    annotations: { destructiveHint: false },
  },
  {
    name: "juggler_config_show",
    title: "Show the identity configuration",
    description:
      "Show the current identity configuration. Optionally filter to a specific section (identities, settings, state, managed_ssh, managed_git).",
    inputSchema: object({
      section: text("Configuration section to display. Default: all", {
        enum: ["all", "identities", "settings", "state", "managed_ssh", "managed_git"],
        default: "all",
      }),
    }),
    annotations: { readOnlyHint: true },
  },
  {
    name: "juggler_debug_ssh",
    title: "Diagnose SSH",
    description:
      "Debug SSH configuration by showing parsed SSH hosts, testing connectivity, and checking key file permissions. Useful for diagnosing connection issues.",
    inputSchema: object({}),
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: "juggler_security_mode",
    title: "Show or set the security mode",
    description:
      "Get or set the security mode for GPG signing operations. Modes: maximum_security (PIN or passphrase asked for each time), developer_workflow (cached by gpg-agent), trusted_workstation (PIN stored in HSM).",
    inputSchema: object({
      mode: text("Security mode to set. Omit to get current mode.", {
        enum: ["maximum_security", "developer_workflow", "trusted_workstation"],
      }),
    }),
    annotations: { destructiveHint: false, idempotentHint: true },
  },
] as const satisfies readonly ToolDefinition[];

export type JugglerToolName = (typeof JUGGLER_TOOLS)[number]["name"];
