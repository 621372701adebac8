/** The supported forges. Forgejo and Codeberg have Gitea's API. */
export type ForgeKind = "github" | "gitlab" | "gitea";

/** A pull request, or a merge request as GitLab calls it. */
export interface PullRequest {
  readonly number: number;
  /** The URL of its page. */
  readonly url: string;
  readonly isOpen: boolean;
  /** The description, as Markdown. */
  readonly body: string;
}

export interface NewPullRequest {
  /** The branch that is offered, in the same repository. */
  readonly head: string;
  /** The branch that it should be merged into. */
  readonly base: string;
  readonly title: string;
  readonly body: string;
  readonly isDraft: boolean;
}

/** The pull requests of one repository. */
export interface Forge {
  defaultBranch(): Promise<string>;
  get(number: number): Promise<PullRequest | undefined>;
  /** The newest pull request of a branch, open or closed. */
  find(head: string, base: string): Promise<PullRequest | undefined>;
  create(request: NewPullRequest): Promise<PullRequest>;
  describe(number: number, body: string): Promise<void>;
}

/** Where a repository is on the web, derived from its address. */
export interface RepositoryAddress {
  /** With the port, if the web address has one. */
  readonly host: string;
  readonly scheme: "https" | "http";
  /** A user, or a group with its subgroups. */
  readonly owner: string;
  readonly repository: string;
}

/** Well-known forges. */
const KNOWN: Readonly<Record<string, ForgeKind>> = {
  "github.com": "github",
  "gitlab.com": "gitlab",
  "gitea.com": "gitea",
  "codeberg.org": "gitea",
};

/** Hosts for SSH on the HTTPS port, and the hosts of their pages. */
const ALIASES: Readonly<Record<string, string>> = {
  "ssh.github.com": "github.com",
  "altssh.gitlab.com": "gitlab.com",
};

/** The host of a forge's pages. */
export function webHost(host: string): string {
  return ALIASES[host] ?? host;
}

/**
 * The software of a host: by `configured`, which may name the host with or without its port, then by the
 * well-known forges, then by the provider of the identity with this host.
 */
export function forgeKind(
  host: string,
  configured: Readonly<Record<string, ForgeKind>>,
  identity: { readonly provider: string; readonly host?: string | undefined } | undefined,
): ForgeKind | undefined {
  const [bare = ""] = host.split(":");
  const said = configured[host] ?? configured[bare] ?? KNOWN[bare];
  if (said !== undefined) return said;
  if (bare.endsWith(".ghe.com")) return "github";
  const { provider, host: its } = identity ?? {};
  const isItsHost = its === host || its === bare;
  return isItsHost && (provider === "github" || provider === "gitlab") ? provider : undefined;
}

/** The base URL of a forge's API. A self-hosted one has it on its own host. */
export function apiOf(
  kind: ForgeKind,
  { host, scheme }: Pick<RepositoryAddress, "host" | "scheme">,
): string {
  if (kind === "gitlab") return `${scheme}://${host}/api/v4`;
  if (kind === "gitea") return `${scheme}://${host}/api/v1`;
  if (host === "github.com") return "https://api.github.com";
  // GitHub Enterprise Cloud with data residency.
  if (host.endsWith(".ghe.com")) return `https://api.${host}`;
  return `${scheme}://${host}/api/v3`;
}

/** The page where a person can open a pull request for a branch. */
export function newRequestPage(kind: ForgeKind, address: RepositoryAddress, head: string): string {
  const { scheme, host, owner, repository } = address;
  const page = `${scheme}://${host}/${words(owner)}/${words(repository)}`;
  switch (kind) {
    case "github":
      return `${page}/pull/new/${words(head)}`;
    case "gitlab":
      return `${page}/-/merge_requests/new?merge_request%5Bsource_branch%5D=${encodeURIComponent(head)}`;
    case "gitea":
      return `${page}/compare/${words(head)}`;
  }
}

function words(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Where a comment on a pull request goes. Without a line it is on the file. */
export interface NewLines {
  readonly path: string;
  readonly side: "old" | "new";
  readonly line?: number | undefined;
  readonly end?: number | undefined;
}
