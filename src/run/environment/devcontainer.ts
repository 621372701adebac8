import { basename } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";

/** Commands that run at the same time; the step ends with the last of them. */
export interface SetupStep {
  readonly name: string;
  /** Each is a program with its arguments. */
  readonly commands: readonly (readonly string[])[];
}

const LONGEST_TITLE = 60;

/** The command that runs a line in a shell. */
export function shell(line: string): readonly string[] {
  return ["/bin/sh", "-c", line];
}

/** One line, not too long. */
export function short(text: string): string {
  const line = visibleLine(text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim());
  return line.length <= LONGEST_TITLE ? line : `${line.slice(0, LONGEST_TITLE - 1)}…`;
}

/**
 * Development containers, "Lifecycle scripts": the commands that run once, in this order, when a container
 * is created. Each runs only if the previous one has succeeded.
 */
const LIFECYCLE = ["onCreateCommand", "updateContentCommand", "postCreateCommand"] as const;

/** Properties that have no effect here, and why, for people. */
const NOT_USED: readonly (readonly [members: readonly string[], why: string])[] = [
  [
    ["image", "build", "dockerFile", "dockerComposeFile", "features"],
    "agents use the programs of the server",
  ],
  [["initializeCommand"], "it would run on the server itself"],
  [["postStartCommand", "postAttachCommand"], "only commands that run once, at creation, are run"],
  [
    ["mounts", "workspaceMount", "workspaceFolder"],
    "the server chooses the folder of the workspace",
  ],
];

export interface Devcontainer {
  readonly steps: readonly SetupStep[];
  readonly env: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

/** Values for the variables in a devcontainer.json. */
export interface DevcontainerPlace {
  /** The folder of the workspace's files. */
  readonly folder: string;
  /** Environment variables of its commands. */
  readonly variables: NodeJS.ProcessEnv;
}

/** Reads the commands and variables of a devcontainer.json. Throws "config" if it is invalid. */
export function readDevcontainer(value: unknown, place: DevcontainerPlace): Devcontainer {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw wrong("it", "an object");
  }
  const members = value as Readonly<Record<string, unknown>>;
  const env: Record<string, string> = {};
  const replace = (text: string): string =>
    replaceVariables(text, place.folder, { ...place.variables, ...env });
  for (const name of ["containerEnv", "remoteEnv"]) {
    for (const [key, text] of readVariables(name, members[name])) env[key] = replace(text);
  }
  const steps = LIFECYCLE.flatMap((name): SetupStep[] => {
    const commands = readCommands(name, members[name]);
    if (commands.length === 0) return [];
    return [{ name, commands: commands.map((command) => command.map(replace)) }];
  });
  const notes = NOT_USED.flatMap(([names, why]) => {
    const there = names.filter((name) => members[name] !== undefined);
    return there.length === 0 ? [] : [`${there.join(", ")} not used: ${why}`];
  });
  return { steps, env, notes };
}

/** A line for a shell, a program with its arguments, or an object of these that run in parallel. */
function readCommands(name: string, value: unknown): (readonly string[])[] {
  if (value === undefined || value === null) return [];
  if (typeof value === "object" && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, each]) => readOne(`${name}.${key}`, each));
  }
  return readOne(name, value);
}

function readOne(name: string, value: unknown): (readonly string[])[] {
  if (typeof value === "string") return value.trim() === "" ? [] : [shell(value)];
  if (Array.isArray(value) && value.every((part) => typeof part === "string")) {
    return value.length === 0 ? [] : [value];
  }
  throw wrong(name, "a string or a list of strings");
}

function readVariables(name: string, value: unknown): [string, string][] {
  if (value === undefined || value === null) return [];
  if (typeof value !== "object") throw wrong(name, "an object");
  return Object.entries(value).flatMap(([key, text]): [string, string][] => {
    // Null unsets a variable, and no variable is set yet.
    if (text === null) return [];
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(key))
      throw wrong(`the name '${short(key)}' in ${name}`, "a name of a variable");
    if (typeof text !== "string") throw wrong(`${name}.${short(key)}`, "a string");
    return [[key, text]];
  });
}

/** Development containers, "Variables in devcontainer.json". Variables of the server are not revealed. */
function replaceVariables(text: string, folder: string, env: NodeJS.ProcessEnv): string {
  return text.replaceAll(/\$\{([A-Za-z]+)(?::([^{}:]*))?(?::([^{}]*))?\}/g, (whole, ...parts) => {
    const [name = "", argument = "", otherwise = ""] = parts as (string | undefined)[];
    switch (name) {
      case "containerWorkspaceFolder":
      case "localWorkspaceFolder":
        return folder;
      case "containerWorkspaceFolderBasename":
      case "localWorkspaceFolderBasename":
        return basename(folder);
      case "containerEnv":
        return Object.hasOwn(env, argument) ? (env[argument] ?? "") : otherwise;
      case "localEnv":
        return otherwise;
      default:
        return whole;
    }
  });
}

function wrong(what: string, shape: string): TrunklineError {
  return new TrunklineError("config", `Cannot read devcontainer.json: ${what} must be ${shape}.`);
}
