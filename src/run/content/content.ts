import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { TrunklineError } from "../../base/errors.ts";
import { parseRemoteUrl, remotePattern } from "../../base/remote-url.ts";
import type { Credentials, HostResolver } from "../../git/server/pin-connection.ts";
import { filesOf } from "../environment/layers.ts";
import { checkRemoteUrl, type RemotePolicy } from "../remote-ref.ts";
import type { CachedRepository, RepositoryCache } from "../repository-cache.ts";
import { fetchLfsObjects, missingObjects, lfsObjectsOf } from "./lfs.ts";

/** A submodule of a revision, or of a submodule. */
export interface Submodule {
  /** Its folder, from the folder of the whole repository. */
  readonly path: string;
  readonly revision: string;
  /** Where its objects are in the cache. Undefined if it was not fetched: its folder is empty then. */
  readonly repository?: Pick<CachedRepository, "key" | "objects" | "lfs"> | undefined;
}

/** What the files of a revision consist of, in addition to what git itself has in its repository. */
export interface RevisionContent {
  /** A submodule comes before those that are in it. */
  readonly submodules: readonly Submodule[];
  /** Objects of Git LFS that could not be fetched: there are pointers in their place. */
  readonly lacking: readonly string[];
}

export const PLAIN: RevisionContent = { submodules: [], lacking: [] };

/** A name for the files of a revision: the revision itself if it has no submodules and lacks nothing. */
export function nameOfFiles(
  revision: string,
  { submodules, lacking: lacks }: RevisionContent,
): string {
  if (submodules.length === 0 && lacks.length === 0) return revision;
  const facts = submodules.map((each) => [each.path, each.revision, each.repository?.key]);
  const hash = createHash("sha256").update(JSON.stringify([facts, lacks]));
  return `${revision}-${hash.digest("hex").slice(0, 16)}`;
}

/** The folders that have the objects of Git LFS. */
export function lfsFolders(
  { lfs }: Pick<CachedRepository, "lfs">,
  content: RevisionContent,
): string[] {
  const folders = content.submodules.filter(isFetched).map((each) => each.repository.lfs);
  return [...new Set([lfs, ...folders])];
}

/** All folders of objects that git needs for a workspace. Those of Git LFS exist only if there are some. */
export function objectFolders(
  repository: Pick<CachedRepository, "lfs" | "objects">,
  content: RevisionContent,
): string[] {
  const inner = content.submodules.filter(isFetched).map((each) => each.repository.objects);
  const lfs = lfsFolders(repository, content).filter((folder) => existsSync(folder));
  return [...new Set([repository.objects, ...inner, ...lfs])];
}

type FetchedSubmodule = Submodule & { readonly repository: NonNullable<Submodule["repository"]> };

export function isFetched(submodule: Submodule): submodule is FetchedSubmodule {
  return submodule.repository !== undefined;
}

interface ContentsOptions {
  readonly cache: RepositoryCache;
  readonly policy: RemotePolicy;
  readonly identify: (url: string) => Promise<{ readonly credentials: Credentials }>;
  readonly resolve: HostResolver;
}

export interface ContentRequest {
  readonly repository: CachedRepository;
  readonly revision: string;
  readonly credentials: Credentials;
  /** Patterns of the addresses that may be used; undefined if all may. */
  readonly within: readonly string[] | undefined;
  readonly signal: AbortSignal;
  readonly tell: (message: string) => void;
}

const MOST_SUBMODULES = 200;
const DEEPEST = 8;
const MOST_OBJECTS = 20_000;

/** Fetches submodules, and files of Git LFS. A session goes on without those that cannot be fetched, and is told. */
export class ContentFetcher {
  readonly #options: ContentsOptions;
  /** By repository, revision and limits. */
  readonly #whole = new Map<string, RevisionContent>();

  constructor(options: ContentsOptions) {
    this.#options = options;
  }

  async need(request: ContentRequest): Promise<RevisionContent> {
    const { repository, revision, within } = request;
    const key = JSON.stringify([repository.key, revision, within]);
    const known = this.#whole.get(key);
    if (known !== undefined) return known;
    const submodules: Submodule[] = [];
    const lacks: string[] = [];
    const work = {
      ...request,
      root: repository.url,
      path: "",
      submodules,
      lacks,
      asked: { files: 0, bytes: 0 },
    };
    await this.#add(work, 0);
    const content = { submodules, lacking: lacks };
    if (lacks.length === 0 && submodules.every(isFetched)) this.#whole.set(key, content);
    return content;
  }

  async #add(work: ContentJob, depth: number): Promise<void> {
    const { repository, revision, submodules, tell } = work;
    const files = await filesOf(repository, revision);
    await this.#addLfs(work, files);
    const links = [...files].filter(([, entry]) => entry.startsWith("160000 "));
    if (links.length === 0) return;
    const addresses = await addressesIn(repository, revision);
    for (const [name, entry] of links) {
      const path = work.path + name;
      const its = entry.replace(/^160000 commit /, "");
      try {
        if (submodules.length >= MOST_SUBMODULES || depth === DEEPEST) {
          const most = `${MOST_SUBMODULES} submodules, and ${DEEPEST} in each other`;
          throw new TrunklineError("limit", `At most ${most}, are fetched.`);
        }
        const address = addresses.get(name);
        if (address === undefined) {
          throw new TrunklineError("not-found", "`.gitmodules` has no address for it.");
        }
        const inner = await this.#fetch(work, fromAddress(repository.url, address), its);
        const { key, objects, lfs } = inner.repository;
        submodules.push({ path, revision: its, repository: { key, objects, lfs } });
        await this.#add({ ...work, ...inner, revision: its, path: `${path}/` }, depth + 1);
      } catch (error) {
        if (submodules.at(-1)?.path !== path) submodules.push({ path, revision: its });
        tell(`The submodule '${path}' is not there: ${(error as Error).message}`);
      }
    }
  }

  async #fetch(
    { root, within, tell }: ContentJob,
    address: string,
    revision: string,
  ): Promise<Pick<ContentJob, "repository" | "credentials">> {
    const { cache, policy, identify } = this.#options;
    const { normal: url, transport } = checkRemoteUrl(address, policy);
    const refuse = (why: string): TrunklineError =>
      new TrunklineError("untrusted", `Cannot fetch '${url}': ${why}.`);
    if (within?.some((pattern) => remotePattern(pattern)(url)) === false) {
      throw refuse("it is not among the repositories of the token");
    }
    // Whoever writes `.gitmodules` may name any repository, also one that only we can read.
    const isOurs =
      isOfSameOwner(root, url) ||
      policy.submodules?.some((pattern) => remotePattern(pattern)(url)) === true;
    const next = "An entry in `remote.submodules` allows that";
    if (!isOurs && transport !== "https") {
      throw refuse(`it has another owner, and is not reached by HTTPS. ${next}`);
    }
    const noToken = `Cannot fetch '${url}' without credentials, which only submodules of the same owner get. ${next}.`;
    const credentials = isOurs ? (await identify(url)).credentials : { scope: "", noToken };
    const repository = cache.at(url, credentials);
    if (!(await repository.has(revision))) tell(`Fetching the submodule ${url} …`);
    await repository.need({ url, branch: "", revision }, credentials);
    return { repository, credentials };
  }

  async #addLfs(work: ContentJob, entries: ReadonlyMap<string, string>): Promise<void> {
    const { repository, credentials, signal, lacks, tell, asked } = work;
    const missing = missingObjects(repository.lfs, await lfsObjectsOf(repository.git, entries));
    if (missing.length === 0) return;
    const { maxLfs = Infinity } = this.#options.policy;
    const bytes = missing.reduce((sum, { size }) => sum + size, asked.bytes);
    const files = missing.length + asked.files;
    try {
      if (bytes > maxLfs || files > MOST_OBJECTS) {
        const says = `${files} files of Git LFS take ${bytes} bytes. \`remote.maxLfs\` allows ${maxLfs}, in at most ${MOST_OBJECTS} files.`;
        throw new TrunklineError("limit", says);
      }
      Object.assign(asked, { files, bytes });
      tell(`Fetching ${missing.length} files of Git LFS …`);
      const { resolve } = this.#options;
      const server = { url: repository.url, credentials, resolve, signal };
      await fetchLfsObjects(server, repository.lfs, missing);
    } catch (error) {
      for (const { oid } of missingObjects(repository.lfs, missing)) lacks.push(oid);
      tell(`There are pointers in place of files of Git LFS: ${(error as Error).message}`);
    }
  }
}

interface ContentJob extends ContentRequest {
  /** The address of the repository that the run is about. */
  readonly root: string;
  /** The folder of the submodule, with a slash at its end; empty for the repository itself. */
  readonly path: string;
  readonly submodules: Submodule[];
  readonly lacks: string[];
  /** Of Git LFS, for all repositories together. */
  readonly asked: { readonly files: number; readonly bytes: number };
}

/** The addresses of submodules by their path (gitmodules(5)). */
async function addressesIn(
  { git }: CachedRepository,
  revision: string,
): Promise<ReadonlyMap<string, string>> {
  const args = ["config", "--blob", `${revision}:.gitmodules`, "--no-includes", "--list", "-z"];
  const { stdout } = await git.run(args, { accepts: [0, 1, 128] });
  const settings = new Map<string, string>();
  for (const line of stdout.toString("utf8").split("\0")) {
    const end = line.indexOf("\n");
    if (end > 0) settings.set(line.slice(0, end), line.slice(end + 1));
  }
  return new Map(
    Array.from(settings).flatMap(([key, path]) => {
      const url = key.endsWith(".path") ? settings.get(key.replace(/path$/, "url")) : undefined;
      return url === undefined ? [] : [[path, url]];
    }),
  );
}

/** gitmodules(5): an address that begins with `./` or `../` is relative to that of the repository. */
export function fromAddress(base: string, address: string): string {
  if (!/^\.\.?\//.test(address)) return address;
  let [from, rest] = [base.replace(/\/+$/, ""), address];
  for (let step = /^\.\.?\//.exec(rest)?.[0]; step !== undefined;) {
    rest = rest.slice(step.length);
    // The path of `git@host:path` begins after the colon.
    if (step === "../") from = from.replace(/(?:\/|(?<=:))[^/:]*$/, "");
    step = /^\.\.?\//.exec(rest)?.[0];
  }
  return from.endsWith(":") ? from + rest : `${from}/${rest}`;
}

function isOfSameOwner(one: string, other: string): boolean {
  const [{ host, port, owner, transport }, its] = [parseRemoteUrl(one), parseRemoteUrl(other)];
  const isSameHost = host !== undefined && host === its.host;
  // Servers use other ports for SSH and HTTPS.
  const isSamePort = transport !== its.transport || port === its.port;
  return isSameHost && isSamePort && owner !== undefined && owner === its.owner;
}
