import { DEFAULT_LIMITS } from "../../base/limit/limits.ts";
import type { Config } from "./config.ts";

/** The agent that needs no configuration. */
export const BUILT_IN = "trunkline";

/** What holds when nobody says otherwise. `schema.ts` tells the same to editors and people. */
export function defaultConfig(data: string): Config {
  return {
    server: { host: "127.0.0.1", port: 4180 },
    serve: { allowedHosts: [], allowedOrigins: [] },
    remote: {
      allowHosts: [],
      allowPrivate: false,
      protocols: ["https", "ssh"],
      sandbox: "on",
      egress: { allowHosts: [] },
      turns: { running: 32, runningEach: 16, waitingEach: 100 },
      bases: 4,
      scan: { maxFile: 10_485_760, maxTotal: 104_857_600, maxFiles: 5_000 },
    },
    data,
    log: { level: "info", verbose: false },
    limits: { ...DEFAULT_LIMITS, messages: {} },
    mcpServers: {},
    agent: BUILT_IN,
    agents: {},
    models: { local: true, maxSteps: 100, toolTimeout: 120_000, providers: {} },
    identities: {},
    bus: { clientCertificate: "require", callTimeout: 600_000, plugins: {} },
    review: { batch: 10, first: "newest", lease: 900, dropFiles: true },
    policy: { tools: { default: "allow", rules: [], approve: "first-use" } },
  };
}
