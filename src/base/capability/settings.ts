/**
 * A key of the configuration, as JSON Schema with some annotations of ours. What is declared here is
 * written down nowhere else, and not part of the program: the check, the types, the defaults, the reference in
 * docs/CONFIGURATION.md and the schema for editors are all generated from it.
 */
export interface Setting {
  readonly type?: "string" | "integer" | "number" | "boolean" | "object" | "array";
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Settings;
  readonly required?: readonly string[];
  readonly additionalProperties?: false | Setting;
  readonly items?: Setting;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly enum?: readonly (string | number | boolean)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: "uri";
  readonly anyOf?: readonly Setting[];
  /** The name of a shape: "#Name". */
  readonly $ref?: string;
  /** Completes "must be …" where a value does not fit the pattern. */
  readonly "x-form"?: string;
  /** What a project's own file may do: set it without being trusted (true), or never (false). */
  readonly "x-project"?: boolean;
  /** It is a path, and counts from the folder of the file that sets it. */
  readonly "x-path"?: PathKind;
  /** The name of its type. */
  readonly "x-name"?: string;
}

/** By key. */
export type Settings = Readonly<Record<string, Setting>>;

/** The keys of the configuration that belong to a part of the program. */
export interface SettingsSchema {
  readonly name: string;
  readonly settings: Settings;
}

/** `program`: only what begins with `./`, `../` or `~/` is a path. `document`: what is no URL is one. */
export type PathKind = "file" | "program" | "document";

/** Everything about a setting but its type and description. */
type Extras = Omit<Setting, "type" | "description">;

/** A text, which is not empty unless a pattern says so. */
export function text(description: string, more: Extras = {}): Setting {
  const filled = more.pattern === undefined ? { minLength: 1 } : {};
  return { type: "string", ...filled, ...more, description };
}

/** A text that may be empty. */
export const ANY_TEXT: Setting = { type: "string" };

/** A text in a list or table, which is not empty. */
export const NAME: Setting = { type: "string", minLength: 1 };

/** The same, of a file or folder. */
export const FILE: Setting = { ...NAME, "x-path": "file" };

/** An address with one of the schemes. */
export function url(description: string, more: Extras = {}): Setting {
  return { type: "string", format: "uri", pattern: "^https?://", ...more, description };
}

/** A file or folder. */
export function path(description: string, more: Extras = {}): Setting {
  return text(`${description} A relative path counts from this file's folder.`, {
    "x-path": "file",
    ...more,
  });
}

export function integer(description: string, more: Extras = {}): Setting {
  return { type: "integer", ...more, description };
}

export function number(description: string, more: Extras = {}): Setting {
  return { type: "number", ...more, description };
}

/** Yes or no. */
export function flag(description: string, more: Extras = {}): Setting {
  return { type: "boolean", ...more, description };
}

/** One of some values. */
export function choice(values: readonly string[], description: string, more: Extras = {}): Setting {
  return { enum: values, ...more, description };
}

export function list(items: Setting, description: string, more: Extras = {}): Setting {
  return { type: "array", items, ...more, description };
}

/** Values by names that people choose. */
export function byName(values: Setting, description: string, more: Extras = {}): Setting {
  return { type: "object", additionalProperties: values, ...more, description };
}

/** Settings that belong together. */
export function group(properties: Settings, more: Omit<Setting, "type"> = {}): Setting {
  return { type: "object", additionalProperties: false, ...more, properties };
}

/** A group whose type has a name, and which may be used in several places. */
export function shape(
  name: string,
  description: string,
  properties: Settings,
  more: Extras = {},
): Setting {
  return group(properties, { "x-name": name, description, ...more });
}

/** The arguments and environment of a program that is started. */
export const ARGS = list(ANY_TEXT, "Its arguments.");
export const ENV = byName(ANY_TEXT, "Environment variables it gets in addition to the usual ones.");

/** The settings of any program that we start and exchange messages with. */
export const PROGRAM: Settings = {
  command: text("Program to start, found as for an MCP server.", { "x-path": "program" }),
  args: ARGS,
  env: ENV,
};
