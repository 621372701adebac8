import { HealthResult_Status as Status } from "../../../protocol/bus/plugin.gen.ts";
import type { BusHandlers } from "../../../protocol/bus/serve.ts";
import type { Health, HealthStatus } from "../definition.ts";
import type { PluginParts } from "../parts.ts";
import { thrown } from "../returned.ts";
import type { ToolService } from "./serve-tools.ts";

export interface Lifecycle {
  /** Ends what runs, within so many milliseconds. Resolves to whether all went well. */
  shutdown(timeout: number): Promise<boolean>;
}

const STATUS: Readonly<Record<HealthStatus, Status>> = {
  healthy: Status.HEALTHY,
  degraded: Status.DEGRADED,
  unhealthy: Status.UNHEALTHY,
};

/** Where the orchestrator does not say how long it waits. */
const USUAL_TIMEOUT = 5_000;

/** Answers the orchestrator that looks after a plugin. */
export function serveLifecycle(
  parts: PluginParts,
  { outside, calls, log }: ToolService,
  lifecycle: Lifecycle,
): BusHandlers {
  const { id } = parts.manifest;
  return {
    register: (manifest) => {
      const accepted = manifest.id === "" || manifest.id === id;
      const rejectReason = accepted ? "" : `this is plugin '${id}', not '${manifest.id}'`;
      return { case: "register", value: { accepted, rejectReason } };
    },
    boot: ({ config }, call) =>
      calls.run(call, async (stopper) => {
        try {
          await parts.boot?.(config, outside.context(stopper));
          return { case: "boot", value: { ready: true } };
        } catch (error) {
          log.error("plugin.not-booted", { error });
          return { case: "boot", value: { ready: false, error: thrown(error).message } };
        }
      }),
    health: async () => ({ case: "health", value: healthOf(await askHealth(parts)) }),
    shutdown: async ({ timeoutSeconds }) => {
      const timeout = timeoutSeconds > 0 ? timeoutSeconds * 1000 : USUAL_TIMEOUT;
      return { case: "shutdown", value: { clean: await lifecycle.shutdown(timeout) } };
    },
  };
}

async function askHealth(parts: PluginParts): Promise<HealthStatus | Health> {
  try {
    return (await parts.health?.()) ?? "healthy";
  } catch (error) {
    return { status: "unhealthy", message: thrown(error).message };
  }
}

function healthOf(health: HealthStatus | Health) {
  const { status, message, details }: Health =
    typeof health === "string" ? { status: health } : health;
  return {
    status: STATUS[status] ?? Status.UNSPECIFIED,
    message: message ?? (status === "healthy" ? "ok" : ""),
    details: { ...details },
  };
}
