import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { hostText } from "../../base/address.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";

export type RemoteKind = "github" | "gitlab";

/** A pull or merge request. */
export interface RemoteReference {
  readonly kind: RemoteKind;
  readonly scheme: "https" | "http";
  /** With the port, if it has one. */
  readonly host: string;
  /** A user, or a group with its subgroups. */
  readonly owner: string;
  readonly repository: string;
  readonly number: number;
}

const USUAL_HOSTS = { github: "github.com", gitlab: "gitlab.com" } as const;

/** The address of the page of a pull or merge request; undefined for anything else. */
export function referenceOfPage(text: string): RemoteReference | undefined {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  const [, path, pull, merge] =
    /^\/(.+?)\/(?:pulls?\/(\d+)|(?:-\/)?merge_requests\/(\d+))(?:\/.*)?$/.exec(
      url?.pathname ?? "",
    ) ?? [];
  if (url === null || path === undefined) return undefined;
  const scheme = url.protocol === "http:" ? "http" : "https";
  const kind = pull === undefined ? "gitlab" : "github";
  return referenceOf(kind, scheme, url.host, path.split("/"), Number(pull ?? merge));
}

/**
 * A pull or merge request as people name it: its page, `OWNER/REPO#12`, `HOST/OWNER/REPO#12`, or a number
 * alone for the repository's own remote.
 */
export function parseReference(
  kind: RemoteKind,
  text: string,
  remotes: readonly string[],
): RemoteReference {
  const page = referenceOfPage(text);
  if (page !== undefined) return { ...page, kind };
  const [, path = "", digits = ""] = /^(?:([^#!\s]+)[#!]|[#!]?)(\d{1,9})$/.exec(text) ?? [];
  const number = Number(digits);
  const known = remotes.map(parseRemoteUrl).filter(({ owner }) => owner !== undefined);
  const steps = path.split("/").filter((step) => step !== "");
  const hasHost = steps.length > 2 && /[.:]/.test(steps[0] ?? "");
  if (path === "" && number > 0) {
    const [first] = known;
    if (first?.host !== undefined) {
      const { owner = "", repository = "" } = first;
      return (
        referenceOf(kind, "https", webHostOf(first), [...owner.split("/"), repository], number) ??
        fail(kind, text)
      );
    }
    const why = "the repository has no remote. Name the repository, as in OWNER/REPO#12";
    throw new TrunklineError("usage", `Cannot find '${visibleLine(text)}': ${why}.`);
  }
  const own = hasHost ? steps.slice(1) : steps;
  const same = known.find(({ owner, repository }) => `${owner}/${repository}` === own.join("/"));
  const host = hasHost ? (steps[0] ?? "") : same ? webHostOf(same) : USUAL_HOSTS[kind];
  return referenceOf(kind, "https", host, own, number) ?? fail(kind, text);
}

/** The port of ssh is not that of the web. */
function webHostOf({ transport, host = "", port }: ReturnType<typeof parseRemoteUrl>): string {
  return hostText({ host, port: transport === "https" ? port : undefined });
}

function referenceOf(
  kind: RemoteKind,
  scheme: "https" | "http",
  host: string,
  path: readonly string[],
  number: number,
): RemoteReference | undefined {
  const repository = path.at(-1)?.replace(/\.git$/, "") ?? "";
  const owner = path.slice(0, -1).join("/");
  const isOne = kind === "gitlab" ? owner !== "" : owner !== "" && path.length === 2;
  if (!isOne || repository === "" || !(number > 0)) return undefined;
  return { kind, scheme, host: host.toLowerCase(), owner, repository, number };
}

function fail(kind: RemoteKind, text: string): never {
  const how =
    kind === "github"
      ? "OWNER/REPO#12, its address, or 12 for this repository"
      : "GROUP/PROJECT!12, its address, or 12 for this repository";
  const what = kind === "github" ? "pull request" : "merge request";
  const says = `Cannot find the ${what} '${visibleLine(text)}': name it as ${how}.`;
  throw new TrunklineError("usage", says);
}

/** How messages name it. */
export function referenceText({ kind, host, owner, repository, number }: RemoteReference): string {
  const sign = kind === "github" ? "#" : "!";
  const place = host === USUAL_HOSTS[kind] ? "" : `${host}/`;
  return `${place}${owner}/${repository}${sign}${number}`;
}
