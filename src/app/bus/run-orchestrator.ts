import { defined } from "../../base/defined.ts";
import { resolve } from "node:path";

import { type BusPlan, busPlan, noteUnasked, openBus, reconfigure } from "../../plugin/open/bus.ts";
import { openData } from "../../config/data-folder.ts";
import type { Config } from "../../config/config.ts";
import { followConfig, type ReloadSource } from "../../config/follow-config.ts";
import type { AppContext } from "../../config/app-context.ts";
import { readPluginsFile } from "../../protocol/bus/plugins-file/plugins-file.ts";
import { openAudit } from "../tool/toolbox-parts.ts";
import { openToolHooks } from "../../hooks/open/open-tool-hooks.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";

export interface RunOrchestratorOptions {
  readonly listen: string | undefined;
  readonly certsDir: string | undefined;
  /** Orchestra's `plugins.yaml`, instead of the configured plugins. */
  readonly pluginsFile: string | undefined;
  readonly cwd: string;
  readonly home: string;
  readonly warn: (message: string) => void;
}

/**
 * Runs the plugin bus alone. Calls of its plugins' tools go through policy and audit, as
 * everywhere.
 */
export async function runOrchestrator(app: AppContext, options: RunOrchestratorOptions) {
  const { config, log, report } = app;
  openData(config.data);
  const plan = await planOf(config, options);
  if (plan.clientCertificate === "request") {
    options.warn(
      "programs without a certificate are let in, plugins too, and can call every tool: " +
        "bus.clientCertificate is 'request'",
    );
  }
  // Orchestra's file has no place for permissions.
  if (options.pluginsFile === undefined) noteUnasked(plan, log);
  await using opening = new AsyncDisposableStack();
  const audit = opening.use(openAudit(app));
  const hooks = await openToolHooks(app, config, audit);
  if (hooks !== undefined) opening.use(hooks);
  const offer = new Offer({ policy: new Policy(config.policy.tools), audit, report, hooks });
  const orchestrator = opening.use(await openBus(plan, { offer, log, data: config.data }));
  const apply = (changed: BusPlan) => reconfigure(orchestrator, changed, plan, log);
  opening.defer(followConfig(reloadingOf(app, options), log, apply));
  const open = opening.move();
  return {
    address: orchestrator.address,
    certsDir: plan.certsDir,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Follows `plugins.yaml` where the plugins come from it, else the configuration. */
function reloadingOf(
  { config, reloading }: AppContext,
  options: RunOrchestratorOptions,
): ReloadSource<BusPlan> | undefined {
  const { pluginsFile, cwd } = options;
  if (pluginsFile !== undefined) {
    return { files: [resolve(cwd, pluginsFile)], load: () => planOf(config, options) };
  }
  if (reloading === undefined) return undefined;
  const load = async (): Promise<BusPlan> => {
    return planOf({ bus: (await reloading.load()).bus, data: config.data }, options);
  };
  return { files: reloading.files, load };
}

async function planOf(
  config: Pick<Config, "bus" | "data">,
  options: RunOrchestratorOptions,
): Promise<BusPlan> {
  const { listen, certsDir, pluginsFile, cwd, home, warn } = options;
  const plan = busPlan(config);
  const inFolder = (path: string | undefined) => (path === undefined ? path : resolve(cwd, path));
  const given = defined({ listen, certsDir: inFolder(certsDir) });
  if (pluginsFile === undefined) return { ...plan, ...given };
  const path = resolve(cwd, pluginsFile);
  const file = await readPluginsFile(path, { home });
  for (const warning of file.warnings) warn(warning);
  if (file.tcpAddr !== undefined) {
    warn(`'tcp_addr' in ${path} is ignored: it has no encryption. Use --listen tls://HOST:PORT.`);
  }
  return {
    ...plan,
    ...defined({ listen: file.listenAddr, certsDir: inFolder(file.certsDir) }),
    plugins: file.plugins.filter(({ enabled }) => enabled),
    ...given,
  };
}
