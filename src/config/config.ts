import type { Problem } from "../base/check.ts";
import type { KeyPath, ConfigValues } from "./layer.ts";
import { type ConfigInForce, DEFAULTS } from "./config.gen.ts";

/** The configuration in force. */
export interface Config extends ConfigInForce {
  /** Absolute. */
  readonly data: string;
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
  /** For a project's file: whether the user trusts it, so that it may set everything. */
  readonly isTrusted?: boolean;
}

export interface LoadedConfig {
  readonly config: Config;
  /** By the key of every single value, such as `serve.port`. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** Warnings for the user: what was ignored, and why. */
  readonly warnings: readonly string[];
  readonly files: readonly ConfigSource[];
}

/** The options of a command line that change the configuration. */
export interface ConfigFlags {
  readonly config?: string | undefined;
  readonly data?: string | undefined;
  readonly set?: readonly string[] | undefined;
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
  /** `--unsafe-no-sandbox`: remote runs have no sandbox. */
  readonly noSandbox?: boolean | undefined;
  /** The values that options of single commands set. */
  readonly more?: readonly FlagValue[] | undefined;
}

/** A key, its value, and the option that sets it. */
export type FlagValue = readonly [path: KeyPath, value: unknown, option: string];

export interface ConfigInput {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly flags: ConfigFlags;
  /** Ignores the project's file. */
  readonly ignoreProject?: boolean;
  /** Throws for a wrong MCP server too, which is left out otherwise, and for what this finds. */
  readonly strict?: (values: ConfigValues) => readonly Problem[];
}

/** The agent that needs no configuration. */
export const BUILT_IN = "trunkline";

/** The default configuration with a data folder. */
export function defaultConfig(data: string): Config {
  return { ...DEFAULTS, data };
}
