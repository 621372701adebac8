import type { LoadedConfig } from "../../config/config.ts";
import type { Invocation } from "../../cli/shell/command.ts";
import { configFlags } from "../../cli/shell/open-app.ts";
import type { Finding } from "./finding.ts";
import type { Check, Checks } from "./run-checks.ts";
import { checkConfig } from "./settings/config.ts";
import { canBeUsed, checkDataFolder } from "./state/data-folder.ts";

export interface Examined {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

/** Milliseconds in which a server has to be up; with `--deep`, most of the time of the check. */
const SERVERS_UP = 3_000;

/** A check that needs the data folder is left out if that cannot be used. */
type AppCheck = Check & { readonly needsData?: boolean };

/** Examines the whole setup. What is needed to know what there is to check is examined first. */
export async function* examine(
  invocation: Invocation,
  checks: Checks,
  isDeep: boolean,
): AsyncGenerator<Finding> {
  const { cwd, env } = invocation;
  let loaded: LoadedConfig | undefined;
  const config: Check = {
    what: "Configuration",
    examine: async () => {
      const found = await checkConfig({ cwd, env, flags: configFlags(invocation.values) });
      ({ loaded } = found);
      return found.findings;
    },
  };
  const git = gitCheck(invocation);
  yield* checks.run([NODE, config]);
  if (loaded === undefined) {
    yield* checks.run([git]);
    return;
  }
  const { data } = loaded.config;
  let isUsable = false;
  const folder: Check = {
    what: "Data folder",
    examine: async () => {
      const findings = await checkDataFolder(data);
      isUsable = canBeUsed(findings);
      return findings;
    },
  };
  yield* checks.run([folder]);
  const app = appChecks(invocation, loaded, isDeep);
  const skipped = isUsable ? [] : app.filter(({ needsData }) => needsData === true);
  if (skipped.length > 0) {
    const names = skipped.map(({ what }) => what).join(", ");
    const next = "Fix the data folder, and run `trunkline doctor` again.";
    yield { state: "warn", what: "Data folder", says: `without it, not checked: ${names}`, next };
  }
  const rest = app.filter((check) => !skipped.includes(check));
  yield* checks.run([git, ...rest]);
}

const NODE: Check = {
  what: "Node",
  examine: async () => {
    const { checkNode } = await import("./machine/programs.ts");
    return [checkNode(process.versions.node)];
  },
};

function gitCheck({ cwd, env }: Invocation): Check {
  return {
    what: "git",
    examine: async () => {
      const { checkGit } = await import("./machine/programs.ts");
      return [await checkGit(cwd, env)];
    },
  };
}

/** The checks that need a configuration. Each loads its code when it runs. */
function appChecks(invocation: Invocation, loaded: LoadedConfig, isDeep: boolean): AppCheck[] {
  const { config } = loaded;
  const { cwd, env } = invocation;
  return [
    {
      what: "Data files",
      needsData: true,
      examine: async (allowance) => {
        const { checkFiles } = await import("./state/files.ts");
        return checkFiles(config.data, allowance);
      },
    },
    {
      what: "Leftovers",
      needsData: true,
      examine: async () => {
        const { checkLeftovers } = await import("./state/leftovers.ts");
        return checkLeftovers(config.data);
      },
    },
    {
      what: "Work trees",
      needsData: true,
      examine: async () => {
        const { checkWorktrees } = await import("./state/worktrees.ts");
        return checkWorktrees(config, env);
      },
    },
    {
      what: "trunkline mcp",
      needsData: true,
      examine: async ({ signal }) => {
        const { checkStart } = await import("./machine/start.ts");
        return checkStart(invocation, signal);
      },
    },
    {
      what: "Port",
      examine: async (allowance) => {
        const { checkPort } = await import("./machine/port.ts");
        return [await checkPort(config, allowance)];
      },
    },
    {
      what: "Access",
      needsData: true,
      examine: async () => {
        const { checkAccess } = await import("./access/access.ts");
        return checkAccess(config);
      },
    },
    {
      what: "TLS",
      examine: async () => {
        const { checkTls } = await import("./access/tls.ts");
        return checkTls(config);
      },
    },
    {
      what: "Notifications",
      needsData: true,
      examine: async () => {
        const { checkNotifications } = await import("./settings/notifications.ts");
        return checkNotifications(config);
      },
    },
    {
      what: "Agents",
      examine: async (allowance) => {
        const { checkAgents } = await import("./settings/agents.ts");
        return checkAgents(config, { cwd, env, isDeep, allowance });
      },
    },
    {
      what: "MCP servers",
      needsData: true,
      examine: async (allowance) => {
        const { checkServers } = await import("./settings/servers.ts");
        return checkServers(config, allowance, isDeep ? undefined : SERVERS_UP);
      },
    },
    {
      what: "Plugin bus",
      needsData: true,
      examine: async () => {
        const { checkBus } = await import("./settings/bus.ts");
        return checkBus(config);
      },
    },
    {
      what: "Models",
      examine: async () => {
        const { checkModels } = await import("./settings/models.ts");
        return checkModels(loaded, env);
      },
    },
    {
      what: "Identities",
      needsData: true,
      examine: async () => {
        const { checkIdentities } = await import("./settings/identities.ts");
        return checkIdentities(config, invocation);
      },
    },
    {
      what: "Remote runs",
      needsData: true,
      examine: async () => {
        const { checkRuns } = await import("./machine/runs.ts");
        return checkRuns(config, env);
      },
    },
    {
      what: "Sandbox of commands",
      examine: async () => {
        const { checkSandbox } = await import("./machine/sandbox.ts");
        return checkSandbox(config);
      },
    },
  ];
}
