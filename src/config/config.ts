import type { KeyPath } from "./layer.ts";
import { DEFAULT_LIMITS } from "../base/limit/limits.ts";
import type { LogLevel } from "../base/log.ts";
import type {
  AgentCommand,
  AgentSettings,
  BusSettings,
  Decision,
  IdentitySettings,
  McpServer,
  MessageLimit,
  ModelProvider,
  ModelSettings,
  NotificationSettings,
  PluginProgram,
  ProfileSettings,
  RemoteSettings,
  ReviewSettings,
  ServeSettings,
  SessionSettings,
  SetupSettings,
  FleetSettings,
  TelemetrySettings,
  ToolRule,
} from "./schema/schema.gen.ts";
import type { PeerLimits } from "../rpc/peer-options.ts";
import type { ChannelLimits } from "../wire/channel.ts";

/** The configuration in force: every key has its value. */
export interface Config {
  readonly server: { readonly host: string; readonly port: number };
  readonly serve: Omit<ServeSettings, "allowedHosts" | "allowedOrigins"> & {
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
  };
  readonly remote: Required<
    Omit<RemoteSettings, "coAuthor" | "egress" | "scan" | "setup" | "turns">
  > & {
    readonly coAuthor?: NonNullable<RemoteSettings["coAuthor"]>;
    readonly egress: { readonly allowHosts: readonly string[] };
    readonly turns: Required<NonNullable<RemoteSettings["turns"]>>;
    readonly scan: Required<NonNullable<RemoteSettings["scan"]>>;
    readonly setup: Required<SetupSettings>;
  };
  readonly fleet: FleetSettings &
    Required<Pick<FleetSettings, "pool" | "slots" | "labels" | "waiting">>;
  readonly sessions: SessionSettings &
    Required<Pick<SessionSettings, "idle" | "permissions" | "foreign">> & {
      readonly worktree: { readonly carry: readonly string[] };
    };
  readonly audit?: {
    /** Absolute. */
    readonly anchor?: string;
  };
  readonly notifications: readonly NotificationSettings[];
  /** Absolute. */
  readonly data: string;
  readonly log: {
    readonly level: LogLevel;
    readonly verbose: boolean;
    readonly requests?: boolean;
  };
  readonly telemetry?: TelemetrySettings;
  readonly limits: ChannelLimits &
    PeerLimits & {
      readonly maxBuffered: number;
      readonly messages: Readonly<Record<string, MessageLimit>>;
    };
  readonly mcpServers: Readonly<Record<string, McpServer>>;
  readonly agent: Required<Pick<AgentSettings, "name" | "sandbox" | "variables">> & {
    readonly egress: { readonly allowHosts: readonly string[] };
    /** Absolute paths. */
    readonly files: Required<NonNullable<AgentSettings["files"]>>;
  };
  readonly agents: Readonly<Record<string, AgentCommand>>;
  readonly models: Omit<Required<ModelSettings>, "default" | "providers"> & {
    readonly default?: string;
    readonly providers: Readonly<Record<string, ModelProvider>>;
  };
  readonly identities: Readonly<Record<string, IdentitySettings>>;
  readonly "x-juggler"?: Readonly<Record<string, unknown>>;
  readonly profiles: Readonly<Record<string, ProfileSettings>>;
  readonly bus: Omit<BusSettings, "clientCertificate" | "callTimeout" | "sandbox" | "plugins"> & {
    readonly clientCertificate: "require" | "request";
    readonly callTimeout: number;
    readonly sandbox: "auto" | "on" | "off";
    readonly plugins: Readonly<Record<string, PluginProgram>>;
  };
  readonly review: Required<ReviewSettings>;
  readonly policy: {
    readonly tools: {
      readonly default: Decision;
      readonly rules: readonly ToolRule[];
      readonly approve: "first-use" | "always";
    };
  };
}

/** From the weakest to the strongest. */
export type OriginKind = "default" | "user" | "project" | "environment" | "flag";

/** Who set a value. */
export interface Origin {
  readonly kind: OriginKind;
  /** A place in a file, the name of a variable or of an option. */
  readonly where: string;
}

/** A configuration file, whether it exists or not. */
export interface ConfigSource {
  readonly kind: "user" | "project";
  readonly path: string;
  readonly isFound: boolean;
  /** Of a project's file: whether it may set everything. */
  readonly isTrusted?: boolean;
}

export interface LoadedConfig {
  readonly config: Config;
  /** By the key of every single value, such as `server.port`. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** What was ignored and why, in words for the user. */
  readonly warnings: readonly string[];
  readonly files: readonly ConfigSource[];
}

/** What a command line says of the configuration. */
export interface ConfigFlags {
  readonly config?: string | undefined;
  readonly data?: string | undefined;
  readonly set?: readonly string[] | undefined;
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
  /** `--unsafe-no-sandbox`: remote runs have no sandbox. */
  readonly noSandbox?: boolean | undefined;
  /** What options of single commands set. */
  readonly more?: readonly FlagValue[] | undefined;
}

/** A key, its value, and the option that sets it. */
export type FlagValue = readonly [path: KeyPath, value: unknown, option: string];

export interface ConfigInput {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly flags: ConfigFlags;
  /** Leaves the project's file aside. */
  readonly ignoreProject?: boolean;
  /** Throws for a wrong MCP server too, which is left out otherwise. */
  readonly isStrict?: boolean;
}

/** The agent that needs no configuration. */
export const BUILT_IN = "trunkline";

/** The defaults. `schema.ts` has the same for editors and documents; a test compares them. */
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
      spares: 2,
      pullRequest: "off",
      forges: {},
      hibernateAfter: 86_400,
      scan: { maxFile: 10_485_760, maxTotal: 104_857_600, maxFiles: 5_000, deny: [] },
      setup: { repositories: {}, from: [], layers: 4, maxLayer: 10_737_418_240 },
    },
    fleet: { pool: "default", slots: 8, labels: {}, waiting: 1_000 },
    sessions: { idle: 1_800, permissions: "first", foreign: "owner", worktree: { carry: [] } },
    notifications: [],
    data,
    log: { level: "info", verbose: false, requests: false },
    limits: { ...DEFAULT_LIMITS, messages: {} },
    mcpServers: {},
    agent: {
      name: BUILT_IN,
      sandbox: "auto",
      egress: { allowHosts: [] },
      files: { write: [], hide: [], show: [] },
      variables: [],
    },
    agents: {},
    models: { local: true, maxSteps: 100, toolTimeout: 120_000, cost: {}, providers: {} },
    identities: {},
    profiles: {},
    bus: { clientCertificate: "require", callTimeout: 600_000, sandbox: "auto", plugins: {} },
    review: { batch: 10, first: "newest", lease: 900, dropFiles: true },
    policy: { tools: { default: "allow", rules: [], approve: "first-use" } },
  };
}
