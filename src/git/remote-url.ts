/** The parts of a remote's URL. */
export interface RemoteUrl {
  readonly transport: "https" | "http" | "ssh" | "git" | "file" | "other";
  /** `git@host:path`, the short form of `ssh://`. */
  readonly isScp: boolean;
  readonly user: string | undefined;
  /** Lower case. For SSH it may be an alias from the SSH configuration. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** As it is written, after the host. */
  readonly path: string;
  /** The folder of the repository on its host: `group/subgroup`. */
  readonly owner: string | undefined;
  /** Without `.git`. */
  readonly repository: string | undefined;
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

/** Parses a URL as git does (git-fetch(1), "GIT URLS"). Anything else is a path. */
export function parseRemoteUrl(text: string): RemoteUrl {
  const [, scheme, rest = ""] = SCHEME.exec(text) ?? [];
  if (scheme !== undefined) return withScheme(scheme.toLowerCase(), rest);
  if (/^[a-z0-9]+::/i.test(text)) return local("other", text);
  return scpLike(text) ?? local("file", text);
}

function withScheme(scheme: string, rest: string): RemoteUrl {
  const transport = TRANSPORTS[scheme] ?? "other";
  if (transport === "file" || transport === "other") return local(transport, rest);
  const slash = rest.indexOf("/");
  const authority = slash < 0 ? rest : rest.slice(0, slash);
  const path = slash < 0 ? "" : rest.slice(slash);
  return { transport, isScp: false, ...readAuthority(authority), path, ...readPath(path) };
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
  const authority = readAuthority(isAddress ? `[${host}]` : host);
  const named = user === undefined ? authority : { ...authority, user };
  return { transport: "ssh", isScp: true, ...named, path, ...readPath(path) };
}

function local(transport: "file" | "other", path: string): RemoteUrl {
  return {
    transport,
    isScp: false,
    user: undefined,
    host: undefined,
    port: undefined,
    path,
    owner: undefined,
    repository: undefined,
  };
}

function readAuthority(text: string): Pick<RemoteUrl, "user" | "host" | "port"> {
  const at = text.lastIndexOf("@");
  // The part after the colon is a password; drop it.
  const user = at < 0 ? undefined : text.slice(0, at).split(":", 1)[0];
  const [, address, plain = "", port] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(text.slice(at + 1)) ?? [];
  return {
    user: user === "" ? undefined : user,
    host: (address ?? plain).toLowerCase() || undefined,
    port: port === undefined || port === "" ? undefined : Number(port),
  };
}

function readPath(path: string): Pick<RemoteUrl, "owner" | "repository"> {
  const steps = path
    .replace(/^\/?~[^/]*\//, "")
    .split("/")
    .filter((step) => step !== "");
  const repository = steps.pop()?.replace(/\.git$/, "");
  return { owner: steps.length === 0 ? undefined : steps.join("/"), repository };
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
