import { isAbsolute } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { isInside, realPath } from "../../base/file/path.ts";
import { homeOf } from "../../base/process/environment.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { lookAtPlugin } from "../../plugin/open/look-at-plugin.ts";
import type { Config } from "../../config/config.ts";
import {
  type SandboxStatus,
  pluginSandboxStatus,
} from "../../sandbox/open/local-sandbox-status.ts";
import { type DeclaredManifest, wantedPermissions } from "../../plugin/declared-manifest.ts";
import { checkPluginId } from "../../plugin/guests.ts";
import { findPlugin } from "../../plugin/installed-plugin.ts";
import { type PluginPermissions, portsOf, SHARED } from "../../plugin/plugin/permissions.ts";
import { pluginSettings, type PluginSettings } from "../../plugin/plugin/settings.ts";
import { askLine, confirm } from "../shell/ask.ts";
import type { OptionValues } from "../shell/command.ts";

/** Options by which a person agrees without being asked. */
export type ConsentValues = OptionValues<never, "approve" | "allow-everything">;

/** Limits on what a plugin asks for: it must fit on a screen, so that nothing important scrolls away. */
const MOST_WANTS = 50;
const LONGEST_WANT = 500;

/** A plugin that asks for permissions. */
export interface PluginRequest {
  readonly manifest: DeclaredManifest;
  /** Whether it is a script for Node: our SDK reaches the bus from within a sandbox. */
  readonly isScript: boolean;
  /** Whether there is a sandbox for it. */
  readonly limits: SandboxStatus;
  /** The namespace that it has used so far. */
  readonly namespace?: string | undefined;
  /** Whether it may do everything already. */
  readonly hasAll?: boolean | undefined;
}

/** What a plugin asks for, and why that is everything, if it is. */
interface RequestedPermissions {
  readonly permissions: PluginPermissions;
  readonly why?: string;
}

export function wantedOf(plugin: PluginRequest, consent: ConsentValues): RequestedPermissions {
  const { manifest, isScript, limits, namespace, hasAll } = plugin;
  checkPluginId(manifest.id);
  const wanted = withRealPaths(wantedPermissions(manifest, namespace));
  if (wanted.namespace !== SHARED) checkPluginId(wanted.namespace ?? "");
  // Throws if a host cannot be put on the list.
  portsOf(wanted.hosts ?? []);
  const isUnclear = !isScript && manifest.permissions === undefined;
  const why =
    consent["allow-everything"] === true
      ? "--allow-everything"
      : hasAll === true
        ? "it may do that already"
        : limits.state !== "ok"
          ? `plugins have no sandbox here (${limits.says})`
          : isUnclear
            ? "it declares no permissions, and programs of other SDKs reach no bus from a sandbox"
            : undefined;
  if (why === undefined) return { permissions: wanted };
  const { read: _read, write: _write, run: _run, hosts: _hosts, ...onBus } = wanted;
  return { permissions: { everything: true, ...onBus }, why };
}

/** A link in a plugin's package may lead anywhere: a person is told where to, and approves that. */
function withRealPaths({ read, write, ...others }: PluginPermissions): PluginPermissions {
  const real = (paths: readonly string[]): string[] =>
    paths.map((path) => (isAbsolute(path) ? realPath(path) : path));
  return {
    ...others,
    ...(read === undefined ? {} : { read: real(read) }),
    ...(write === undefined ? {} : { write: real(write) }),
  };
}

/**
 * Asks a person to approve what a plugin asks for. A plugin that could do everything is approved by typing its
 * name, or with `--allow-everything`.
 */
export async function approve(
  consent: ConsentValues,
  id: string,
  wanted: RequestedPermissions,
): Promise<void> {
  const { permissions, why } = wanted;
  const wants = wordsOf(id, permissions);
  if (wants.length > MOST_WANTS || wants.some((want) => want.length > LONGEST_WANT)) {
    const most = `${MOST_WANTS} things of ${LONGEST_WANT} characters`;
    const says = `'${id}' asks for too much to review: the limit is ${most}.`;
    throw new TrunklineError("untrusted", says);
  }
  const isLoud = canDoEverything(permissions);
  const flag = isLoud ? "allow-everything" : "approve";
  if (wants.length === 0 || consent[flag] === true) return;
  if (consent["allow-everything"] === true) return;
  const because = why === undefined ? "" : `\nEverything, because ${why}.`;
  const asks = `'${id}' asks for:\n${wants.map((want) => `  ${visibleLine(want)}`).join("\n")}${because}`;
  if (process.stdin.isTTY) {
    const isAgreed = isLoud ? await typesName(asks, id) : await confirm(`${asks}\nAllow it?`);
    if (isAgreed) return;
    throw new TrunklineError("untrusted", `${asks}\nIt was not approved.`);
  }
  const next = `Look at it, and add --${flag} if you agree.`;
  const notEnough = isLoud && consent.approve === true ? " --approve is not enough for this." : "";
  throw new TrunklineError("untrusted", `${asks}\nIt was not approved.${notEnough} ${next}`);
}

/** Whether a plugin could in the end do everything that its user can, by changing what that person runs later. */
export function canDoEverything(permissions: PluginPermissions): boolean {
  const { everything = false, run = false, read = [], write = [] } = permissions;
  const home = realPath(homeOf(process.env));
  // Programs run what is in hidden files there, and keep their keys in them.
  const isLoud = (path: string): boolean => isInside(home, path) || path.startsWith(`${home}/.`);
  return everything || run || [...read, ...write].some(isLoud);
}

async function typesName(asks: string, id: string): Promise<boolean> {
  const warning = "It can then read your keys, and change your files and what you run.";
  return (await askLine(`${asks}\n${warning}\nType its name, ${id}, to allow that: `)) === id;
}

/** The permissions of a plugin in words, the most dangerous first. What every plugin may do is left out. */
function wordsOf(id: string, permissions: PluginPermissions): string[] {
  const { everything = false, run = false, namespace, provides = {} } = permissions;
  const { tools = [], read = [], write = [], hosts = [] } = permissions;
  const { publish = [], subscribe = [] } = permissions;
  const named = (what: string, name: string): string =>
    name === "*" ? `every ${what}` : `the ${what} '${name}'`;
  const own = namespace === undefined || namespace === id;
  const whose = namespace === SHARED ? "that plugins share" : `of '${namespace}'`;
  const storage = provides.storage ?? [];
  return [
    ...(everything ? ["do everything on this machine that you can do"] : []),
    ...(run ? ["start programs and use all of your files; only its hosts are limited"] : []),
    ...storage.map((kind) => `keep ${named("storage", kind)}: others' documents pass through it`),
    ...(own ? [] : [`read and write the documents ${whose}`]),
    ...(provides.ai ?? []).map((name) => `answer for ${named("AI provider", name)}`),
    ...(provides.transport ?? []).map((name) => `provide ${named("transport", name)}`),
    ...tools.map((tool) => `call ${named("tool", tool)}`),
    ...write.map((path) => `read and write ${path}`),
    ...read.map((path) => `read ${path}`),
    ...hosts.map((host) => `reach ${host === "*" ? "every host but this machine" : host}`),
    ...publish.map((topic) => `publish events of ${named("topic", topic)}`),
    ...subscribe.map((topic) => `be told of events of ${named("topic", topic)}`),
  ];
}

/** A plugin that is run without having been added. */
export interface TrialPlugin {
  readonly settings: PluginSettings;
  /** What it may do, as one line. */
  readonly note: string;
}

interface TryOptions {
  readonly cwd: string;
  readonly config: Pick<Config, "bus" | "data">;
  readonly consent: ConsentValues & { readonly id?: string };
  readonly limits?: SandboxStatus;
}

/**
 * How to run a plugin that was not added: as if everything that it declares were approved. A plugin that
 * could do everything needs a flag. If an id is given, the plugin is not asked what it declares.
 */
export async function triedPlugin(
  [where = "", ...more]: readonly string[],
  { cwd, config, consent, limits: known }: TryOptions,
): Promise<TrialPlugin> {
  const found = findPlugin(where, cwd);
  const limits = known ?? (await pluginSandboxStatus(config));
  const manifest =
    consent.id === undefined ? await lookAtPlugin(found, config.data, limits) : { id: consent.id };
  const { id } = manifest;
  const [module] = found.args;
  const { permissions, why } = wantedOf(
    { manifest, limits, isScript: module !== undefined },
    consent,
  );
  const wants = visibleLine(wordsOf(id, permissions).join(", "));
  if (canDoEverything(permissions) && consent["allow-everything"] !== true) {
    const because = why === undefined ? "" : `, because ${why}`;
    const next = "Look at it, and add --allow-everything if you agree";
    const says = `Cannot run '${id}': it would ${wants}${because}. ${next}.`;
    throw new TrunklineError("untrusted", says);
  }
  // Authors add tools before they list them in the manifest.
  const provides = { ...permissions.provides, tools: ["*"], prompts: ["*"] };
  const given = { ...permissions, provides };
  const settings = pluginSettings({
    ...{ id, binary: found.command, args: [...found.args, ...more], permissions: given },
    ...(module !== undefined && { code: module }),
  });
  const may = wants === "" ? "nothing outside its package" : wants;
  return { settings, note: `it may do only what it declares: ${may}` };
}

/** An id for a server that was given none: the last word of its command that can be one. */
export function nameOf(words: readonly string[]): string {
  const names = words
    .filter((word) => !word.startsWith("-"))
    .map((word) => (word.split("/").at(-1) ?? "").replace(/(?:@[\d.^~]+|\.[cm]?[jt]s)$/, ""))
    .filter((word) => /^[A-Za-z][A-Za-z0-9._-]*$/.test(word));
  const found = names.find((word) => !RUNNERS.has(word)) ?? names[0] ?? "server";
  return `mcp.${found}`;
}

/** Programs that run another one. */
const RUNNERS: ReadonlySet<string> = new Set([
  ...["npx", "node", "bunx", "bun", "uvx", "uv", "python", "python3", "docker", "run", "deno"],
]);
