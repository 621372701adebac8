import { hostText, normalHost, normalPath } from "./address.ts";
import { glob } from "./text/glob.ts";

/** The parts of a remote's URL, in their normal form. */
export interface RemoteUrl {
  readonly transport: "https" | "http" | "ssh" | "git" | "file" | "other";
  /** `git@host:path`, the short form of `ssh://`. */
  readonly isScp: boolean;
  readonly user: string | undefined;
  /** See `normalHost`. For SSH it may be an alias from the SSH configuration. */
  readonly host: string | undefined;
  /** Undefined if it is the usual one. */
  readonly port: number | undefined;
  /** After the host. */
  readonly path: string;
  /** The folder of the repository on its host: `group/subgroup`. */
  readonly owner: string | undefined;
  /** Without `.git`. */
  readonly repository: string | undefined;
  /** The whole address, without a password: what policies are compared with, and what git is given. */
  readonly normal: string | undefined;
  /** Why there is no normal form. Such an address has no host, owner and repository either. */
  readonly problem?: string;
}

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is;
const TRANSPORTS: Readonly<Record<string, RemoteUrl["transport"]>> = {
  https: "https",
  http: "http",
  ssh: "ssh",
  "git+ssh": "ssh",
  "ssh+git": "ssh",
  git: "git",
  file: "file",
};
export const USUAL_PORTS: Readonly<Record<string, number>> = {
  https: 443,
  http: 80,
  ssh: 22,
  git: 9418,
};

/** Parses a URL as git does (git-fetch(1), "GIT URLS"). Anything else is a path. */
export function parseRemoteUrl(text: string): RemoteUrl {
  const [, scheme, rest = ""] = SCHEME.exec(text) ?? [];
  if (scheme !== undefined) return withScheme(scheme.toLowerCase(), rest);
  if (/^[a-z0-9]+::/i.test(text)) return without("other", text, "git needs another program for it");
  return scpLike(text) ?? local(text, "");
}

function withScheme(scheme: string, rest: string): RemoteUrl {
  const transport = TRANSPORTS[scheme] ?? "other";
  if (transport === "other") return without(transport, rest, "git needs another program for it");
  // Git decodes what follows the scheme.
  if (transport === "file") return local(normalPath(rest) ?? "", "file://");
  const slash = rest.indexOf("/");
  const authority = readAuthority(slash < 0 ? rest : rest.slice(0, slash), transport);
  return remote({ transport, isScp: false }, authority, slash < 0 ? "" : rest.slice(slash));
}

/** `[user@]host:path`, where the colon comes before any slash; also `[host:port]:path`. */
function scpLike(text: string): RemoteUrl | undefined {
  const [, user, bracketed, plain, path = ""] =
    /^(?:([^@/:[\]]+)@)?(?:\[([^\]/]+)\]|([^/:[\]]+)):(.*)$/s.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) return undefined;
  if (process.platform === "win32" && /^[a-z]$/i.test(host)) return undefined;
  // Git accepts brackets around an IPv6 address and around `host:port`.
  const isAddress = bracketed !== undefined && /:.*:/.test(bracketed);
  const authority = readAuthority(isAddress ? `[${host}]` : host, "ssh");
  return remote(
    { transport: "ssh", isScp: true },
    user === undefined ? authority : { ...authority, user },
    path,
  );
}

type Authority = Pick<RemoteUrl, "user" | "host" | "port">;

function remote(
  form: Pick<RemoteUrl, "transport" | "isScp">,
  authority: Authority,
  given: string,
): RemoteUrl {
  const { transport, isScp } = form;
  const { user, host, port } = authority;
  const path = normalPath(given)?.replace(/\/$/, "");
  // The user of a web address may be a mail address.
  const users = transport === "ssh" ? /^[\w.~+][\w.~+-]*$/ : /^(?!-)(?:[\w.~+-]|%40)+$/;
  if (host === undefined || (user !== undefined && !users.test(user))) {
    return without(transport, given, "its host cannot be parsed");
  }
  if (path === undefined)
    return without(transport, given, "its path may lead elsewhere than it seems to");
  if (path.startsWith("-"))
    return without(transport, given, "git could mistake its path for an option");
  // Git decodes a path after a scheme only. Nobody needs a `%` in another.
  if (isScp && path.includes("%")) return without(transport, given, "its path is encoded");
  const login = user === undefined ? "" : `${user}@`;
  const isRelative = isScp && !path.startsWith("/");
  const place =
    port === undefined ? login + hostText({ host }) : `[${login}${hostText({ host, port })}]`;
  const normal = isRelative
    ? `${place}:${path}`
    : `${transport}://${login}${hostText({ host, port })}${path}`;
  return { ...form, ...authority, path, ...readPath(path), normal };
}

function local(path: string, scheme: "" | "file://"): RemoteUrl {
  const isPlain =
    path.startsWith("/") && !/(?:^|\/)\.{0,2}(?=\/|$)/.test(path.slice(1).replace(/\/$/, ""));
  const why = path.startsWith("-")
    ? "git could mistake it for an option"
    : "it is not a plain absolute path";
  if (!isPlain || /[\p{Cc}\p{Zs}]/u.test(path)) return without("file", path, why);
  const plain = path.replace(/\/$/, "");
  const { problem: _, ...parts } = without("file", plain, "");
  return { ...parts, normal: scheme + plain };
}

function without(transport: RemoteUrl["transport"], path: string, problem: string): RemoteUrl {
  return {
    transport,
    isScp: false,
    user: undefined,
    host: undefined,
    port: undefined,
    path,
    owner: undefined,
    repository: undefined,
    normal: undefined,
    problem,
  };
}

function readAuthority(text: string, transport: RemoteUrl["transport"]): Authority {
  const at = text.lastIndexOf("@");
  // The part after the colon is a password; drop it.
  const user = at < 0 ? undefined : text.slice(0, at).split(":", 1)[0];
  const [, name = "", digits = ""] =
    /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(text.slice(at + 1)) ?? [];
  const port = digits === "" ? USUAL_PORTS[transport] : Number(digits);
  const isPort = port !== undefined && port > 0 && port < 65_536;
  return {
    user: user === "" ? undefined : user,
    host: isPort ? normalHost(name) : undefined,
    port: port === USUAL_PORTS[transport] ? undefined : port,
  };
}

function readPath(path: string): Pick<RemoteUrl, "owner" | "repository"> {
  const steps = decodeURIComponent(path)
    .replace(/^\/?~[^/]*\//, "")
    .split("/")
    .filter((step) => step !== "");
  const repository = steps.pop()?.replace(/(?<=.)\.git$/, "");
  return { owner: steps.length === 0 ? undefined : steps.join("/"), repository };
}

/**
 * Whether the normal form of an address fits a pattern, in which `*` stands for any text, but does not
 * lead from the host into the path. The user of a web address does not count: it does not say where it
 * leads. A pattern without a host, such as `*`, is compared with the whole address.
 */
export function remotePattern(pattern: string): (normal: string) => boolean {
  const wanted = partsOf(pattern);
  const fits = wanted.map(glob);
  return (normal) => {
    const found = partsOf(normal);
    if (wanted.length === 1) return fits[0]?.(found.join("")) === true;
    return found.length === wanted.length && found.every((part, at) => fits[at]?.(part) === true);
  };
}

/** The scheme, the host and the path of an address or a pattern; else all of it. */
function partsOf(text: string): readonly string[] {
  const [, scheme = "", authority = "", path = ""] =
    /^([a-z+*]+:\/\/)([^/]*)(.*)$/is.exec(text) ?? [];
  if (scheme !== "") {
    const name = scheme.toLowerCase();
    const usual = USUAL_PORTS[name.slice(0, -3)];
    const host = inSmall(name.startsWith("http") ? authority.replace(/^.*@/, "") : authority);
    // A star at the end of a host is meant for the path: `https://git.example.com*`.
    const all = path === "" ? /^(.+)\*$/.exec(host)?.[1] : undefined;
    if (all !== undefined || (host === "*" && path === "")) return [name, all ?? "*", "*"];
    return [name, usual === undefined ? host : host.replace(new RegExp(`:${usual}$`), ""), path];
  }
  // `ssh:*` stands for all addresses with that scheme.
  const isScheme = /^(?:https?|ssh|git|file):\*/i.test(text);
  const [, place, rest = ""] =
    /^((?:[^@/:[\]]+@)?(?:\[[^\]/]+\]|[^/:[\]]+):)(.*)$/s.exec(text) ?? [];
  return place === undefined || isScheme ? [text] : ["", inSmall(place), rest];
}

/** A host in small letters; the user before it stays. */
function inSmall(authority: string): string {
  return authority.replace(/[^@]*$/, (host) => host.toLowerCase());
}

/**
 * The URL of the same repository through another SSH host name. The form and the port stay; a URL
 * that is not SSH becomes `user@alias:path`.
 */
export function throughSshHost(text: string, alias: string, user = "git"): string | undefined {
  const url = parseRemoteUrl(text);
  if (url.host === undefined) return undefined;
  if (url.transport !== "ssh") return `${user}@${alias}:${url.path.replace(/^\/+/, "")}`;
  const login = url.user === undefined ? "" : `${url.user}@`;
  if (url.isScp && url.port === undefined) return `${login}${alias}:${url.path}`;
  if (url.isScp) return `[${login}${alias}:${url.port}]:${url.path}`;
  return `ssh://${login}${alias}${url.port === undefined ? "" : `:${url.port}`}${url.path}`;
}
