import { harmlessVariables, loginPath } from "../../agent/command-environment.ts";
import { absolutePath } from "../../base/process/environment.ts";
import { mask } from "../../base/text/mask.ts";
import type { ConfigInput } from "../../config/config.ts";
import { keyText } from "../../config/layer.ts";
import { loadConfig } from "../../config/load.ts";
import { type ConfiguredApp, currentInput } from "../../identity/open/open-identities.ts";
import type { HookSettings } from "../hook.ts";
import { type HookRun, type Hooks, hooksFor, type HooksOptions } from "../hooks.ts";

/** The session that hooks are for. */
export type HookedSession = Pick<HooksOptions, "sessionId" | "cwd" | "sandbox">;

/**
 * The hooks of sessions, as the files configure them when a session begins: the user's own, and those of
 * the project that the session works in, if the user trusts its file.
 */
export function openHooks(
  app: ConfiguredApp,
  audit: { record(entry: object): void },
  env: NodeJS.ProcessEnv,
): (session: HookedSession) => Promise<Hooks> {
  return async (session) => {
    const current = currentInput(app, session.cwd, env);
    const input = { ...current, flags: { ...current.flags, set: app.reloading?.set } };
    const { config } = await loadConfig({ ...input, ignoreProject: true });
    const { hooks: project, problems } = await projectHooks(input);
    const { sessionId, cwd } = session;
    return hooksFor({
      ...session,
      settings: { user: config.hooks, project },
      problems,
      env: async (source) => {
        const shown = source === "user" ? env : harmlessVariables(env);
        // They run in the project's folder: no program of the project is found by chance.
        return { ...shown, PATH: absolutePath(await loginPath(shown)) };
      },
      record: (run, { by }) => recordRun(audit, run, { session: sessionId, workspace: cwd, by }),
    });
  };
}

/** One run of a hook in the audit. */
export function recordRun(
  audit: { record(entry: object): void },
  { event: hook, ...run }: HookRun,
  about: Readonly<Record<"session" | "workspace" | "by", string | undefined>>,
): void {
  const time = new Date().toISOString();
  audit.record({ time, event: "hook", hook, ...about, ...(mask(run) as object) });
}

/** A project whose file cannot be read has no hooks, and the user's own run all the same. */
async function projectHooks(
  input: ConfigInput,
): Promise<{ readonly hooks: HookSettings; readonly problems: readonly string[] }> {
  try {
    const { config, origins, warnings } = await loadConfig(input);
    const own = Object.entries(config.hooks).filter(([event]) => {
      return origins.get(keyText(["hooks", event]))?.kind === "project";
    });
    const ignored = warnings.filter((warning) => warning.includes(": 'hooks' is ignored"));
    return { hooks: Object.fromEntries(own), problems: ignored };
  } catch (error) {
    return { hooks: {}, problems: [`The project's hooks do not run: ${(error as Error).message}`] };
  }
}
