import { existsSync } from "node:fs";
import { join } from "node:path";

import { defined } from "../../base/defined.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import { BuiltInAgent } from "../built-in-session.ts";
import type { ReviewComments } from "../commands/session-commands.ts";
import { installedAgents } from "../installed-agents.ts";
import { configuredModels } from "../models/model-commands.ts";
import type { ServerOpener } from "../session-tools.ts";
import { ownPaths, userFolders } from "../../config/locations.ts";
import { BUILT_IN } from "../../config/config.ts";
import type { AppContext } from "../../config/app-context.ts";
import { openToolHooks } from "../../hooks/open/open-tool-hooks.ts";
import { openHooks } from "../../hooks/open/open-hooks.ts";
import { lazySandbox } from "../../sandbox/open/lazy-sandbox.ts";
import { agentIdentity } from "../../identity/open/open-identities.ts";
import { ReviewCommands } from "../../review/review-commands.ts";
import { MODELS_FILE, REVIEWS_FILE } from "../../store/store-files.ts";
import type { Audit } from "../../tool/audit.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";

export interface OpenBuiltInOptions {
  /** The toolbox of the program, opened when a model first needs its tools. */
  readonly offer: () => Promise<Offer>;
  readonly audit: Audit;
  readonly env?: NodeJS.ProcessEnv;
}

/** The built-in agent with the parts of this app. */
export function openBuiltInAgent(app: AppContext, options: OpenBuiltInOptions): BuiltInAgent {
  const { data, models } = app.config;
  const { offer, env = process.env } = options;
  return new BuiltInAgent({
    models: configuredModels({
      settings: models,
      env,
      log: app.log,
      open: async () => openKeys(data, env)(),
      cacheFile: join(data, MODELS_FILE),
    }),
    data,
    offer,
    openServers: lazyServers(app, options.audit),
    reviews: reviewComments(data),
    userFolders: userFolders(env),
    memoryFile: userFolders(env).map((folder) => join(folder, "memory.md"))[0],
    own: ownPaths(data, app.reloading?.files, env),
    actsAs: agentIdentity(app, { agent: BUILT_IN }, env),
    sandbox: app.config.agent.sandbox === "off" ? undefined : lazySandbox(app, env),
    hooks: openHooks(app, options.audit, env),
    installed: () => installedAgents(env, Object.keys(app.config.agents)),
    web: { allowHosts: app.config.agent.egress.allowHosts },
    limits: { maxSteps: models.maxSteps, toolTimeout: models.toolTimeout },
  });
}

/** Most sessions have no MCP servers of their own, so the code for them is loaded on first use. */
function lazyServers(app: AppContext, audit: Audit): ServerOpener {
  const { config, report, observers } = app;
  return async (servers, session) => {
    const { sessionServers } = await import("../../session/open/session-servers.ts");
    const open = sessionServers({
      data: config.data,
      channelLimits: config.limits,
      toolbox: {
        policy: new Policy(config.policy.tools),
        audit,
        observer: observers?.calls,
        hooks: await openToolHooks(app, config, audit),
        report,
      },
    });
    return open(servers, session);
  };
}

const BY = "trunkline";

/** The reviews of the data folder for the agent's slash commands. */
export function reviewComments(data: string): ReviewComments {
  return {
    async hasOpen(folder) {
      // Most people have no reviews; looking for them does not create the database.
      if (!existsSync(join(data, REVIEWS_FILE))) return false;
      using commands = await ReviewCommands.open(data, folder);
      if (commands.repository === undefined) return false;
      const { gitDir } = commands.repository;
      const threads = await commands.reviews.list({ gitDir, states: ["open", "reopened"] });
      return threads.length > 0;
    },
    async open(folder) {
      using commands = await ReviewCommands.open(data, folder);
      if (commands.repository === undefined) return [];
      const { gitDir, root } = commands.repository;
      const threads = await commands.list({ gitDir, states: ["open", "reopened"] });
      return threads.map(({ id, file, line, comment, suggestion }) => {
        const hasSuggestion = suggestion !== undefined;
        return { id, path: join(root, file), comment, hasSuggestion, ...defined({ line }) };
      });
    },
    async suggested(folder, id) {
      using commands = await ReviewCommands.open(data, folder);
      const { path, content } = await commands.suggested(id);
      return { path: join(commands.here.root, path), text: content.toString("utf8") };
    },
    async done(folder, id, text) {
      using commands = await ReviewCommands.open(data, folder);
      await commands.say("propose", id, { by: BY, role: "agent", text, proposal: { text } });
    },
  };
}
