import { TrunklineError } from "../../base/errors.ts";
import { hostText } from "../../base/address.ts";
import { holdSecret } from "../../base/text/mask.ts";
import { glob } from "../../base/text/glob.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import type { RepositorySetup, SetupSettings as Settings } from "../../config/schema/schema.gen.ts";
import { readDevcontainer, type SetupStep, shell, short } from "./devcontainer.ts";

// As the configuration has it: `settings-schema.ts` declares it.
export type { RepositorySetup };

export type SetupSettings = Required<Pick<Settings, "repositories" | "from">>;

/** The commands that set a repository up, with their options. */
export interface Recipe extends Required<Omit<RepositorySetup, "command" | "keys">> {
  /** A short name, for people. */
  readonly title: string;
  readonly steps: readonly SetupStep[];
  readonly keys: readonly string[] | undefined;
  /** Parts of the devcontainer that are not used, for people. */
  readonly notes: readonly string[];
}

/** The files of a revision that a recipe is read from. */
export interface RecipeSource {
  readonly url: string;
  /** The folder of the files while set-up runs. */
  readonly folder: string;
  readonly has: (path: string) => boolean;
  readonly read: (path: string) => Promise<string>;
  /** Environment variables of the commands, such as `PATH`. */
  readonly variables: NodeJS.ProcessEnv;
  /** Parses JSON with comments. Throws if it is invalid. */
  readonly parse: (path: string, text: string) => unknown;
}

export const SCRIPT = ".trunkline/setup.sh";
const DEVCONTAINERS = [".devcontainer/devcontainer.json", ".devcontainer.json"];
const TIMEOUT = 10 * 60_000;

/** How a revision is set up; undefined if it is not. */
export async function recipeFor(
  source: RecipeSource,
  settings: SetupSettings,
): Promise<Recipe | undefined> {
  const configured = setupOf(source.url, settings.repositories);
  const found = await commandsOf(source, configured, settings.from);
  if (found === undefined) return undefined;
  const { secrets = [], keep = [], allowHosts = [], timeout = TIMEOUT, keys } = configured ?? {};
  const env = { ...found.env, ...configured?.env };
  return { ...found, env, secrets, keep, allowHosts, timeout, keys };
}

/** The configuration that applies to a repository. */
export function setupOf(
  url: string,
  repositories: SetupSettings["repositories"],
): RepositorySetup | undefined {
  const { isScp, user, path, normal, ...place } = parseRemoteUrl(url);
  if (normal === undefined) return undefined;
  // A path that begins in the home folder of a user is another one for each of them.
  const isHome = isScp && !path.startsWith("/") && user !== undefined && user !== "git";
  const [login, host] = [isHome ? user : "", hostText(place)];
  const plain = path.replace(/^\//, "").replace(/\.git$/, "");
  const isIts = ([pattern]: readonly [string, unknown]): boolean => {
    if (pattern === "*") return true;
    // Without a path, a star at the end of the host is meant for the path.
    const [, logins = "", hosts = "", paths = ""] =
      /^(?:([^/]*)@)?([^/]*)\/(.*)$/s.exec(pattern.replace(/^([^/]+)\*$/, "$1/*")) ?? [];
    return glob(logins)(login) && glob(hosts.toLowerCase())(host) && glob(paths)(plain);
  };
  return Object.entries(repositories).find(isIts)?.[1];
}

/** The folder in which both set-up and agents see a repository, so that paths stay valid. */
export function workspaceFolder(url: string): string {
  const name =
    parseRemoteUrl(url)
      .path.split("/")
      .at(-1)
      ?.replace(/\.git$/, "") ?? "";
  return `/workspaces/${/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(name) ? name : "repository"}`;
}

/** Whether a client wants set-up to be tried even if it has just failed. */
export function readRetrySetup(meta: unknown): true | undefined {
  const { trunkline } = (meta ?? {}) as { trunkline?: { retrySetup?: unknown } | null };
  return trunkline?.retrySetup === true || undefined;
}

type FoundCommands = Pick<Recipe, "title" | "steps" | "env" | "notes">;

async function commandsOf(
  source: RecipeSource,
  configured: RepositorySetup | undefined,
  from: SetupSettings["from"],
): Promise<FoundCommands | undefined> {
  if (configured?.command !== undefined) return inShell(configured.command);
  if (from.includes("script") && source.has(SCRIPT)) return inShell(`sh ${SCRIPT}`);
  const path = from.includes("devcontainer") ? DEVCONTAINERS.find(source.has) : undefined;
  if (path === undefined) return undefined;
  const read = readDevcontainer(source.parse(path, await source.read(path)), source);
  if (read.steps.length === 0) return undefined;
  const first = read.steps[0]?.commands[0]?.at(-1) ?? "";
  return { ...read, title: short(`${path}: ${first}`) };
}

function inShell(command: string): FoundCommands {
  const title = short(command);
  return { title, steps: [{ name: title, commands: [shell(command)] }], env: {}, notes: [] };
}

/** The values of the secrets that a recipe names. Throws "config" if one is not set. */
export async function secretsFor(
  { secrets }: Recipe,
  find: (name: string) => Promise<string | undefined>,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of secrets) {
    const value = await find(name);
    if (value === undefined || value === "") {
      const next = `Set it as an environment variable of the server, or store it with \`trunkline model key set ${name}\``;
      throw new TrunklineError("config", `Cannot find the secret '${name}' for set-up. ${next}.`);
    }
    holdSecret(value);
    found[name] = value;
  }
  return found;
}
