import { createHash } from "node:crypto";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

import { hostText } from "../../base/address.ts";
import { boundedBody } from "../../base/bounded-body.ts";
import { parsedJson } from "../../base/check.ts";
import { TrunklineError } from "../../base/errors.ts";
import { clientFor, lookupAmong } from "../../base/public-lookup.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import type { Credentials, HostResolver } from "../../git/server/pin-connection.ts";
import type { ServerGit } from "../../git/server/server-git.ts";
import { readObjects, sizesOf } from "../change/scan.ts";
import { unfinishedName } from "../repository-cache.ts";

/** An object of Git LFS: the SHA-256 of a file's content, and its size. */
export interface LfsObject {
  readonly oid: string;
  readonly size: number;
}

const POINTER =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\noid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n$/;
/** Sizes of pointers in bytes: the size that a pointer names has up to fifteen digits. */
const [SHORTEST, LONGEST] = [126, 140];

/** The objects that pointers of a revision name, if its attributes mention Git LFS. */
export async function lfsObjectsOf(
  git: ServerGit,
  files: ReadonlyMap<string, string>,
): Promise<LfsObject[]> {
  const blobs = [...files].flatMap(([path, entry]) => {
    const [, object] = /^100\d+ blob ([0-9a-f]+)$/.exec(entry) ?? [];
    return object === undefined ? [] : [{ path, object }];
  });
  const attributes = blobs.filter(({ path }) => /(?:^|\/)\.gitattributes$/.test(path));
  let isUsed = false;
  for await (const [, bytes] of readObjects(git, attributes)) {
    isUsed ||= bytes.includes("filter=lfs");
  }
  if (!isUsed) return [];
  const sizes = await sizesOf(
    git,
    blobs.map(({ object }) => object),
  );
  const likely = blobs.filter((_, at) => {
    const size = sizes[at] ?? 0;
    return size >= SHORTEST && size <= LONGEST;
  });
  const found = new Map<string, LfsObject>();
  for await (const [, bytes] of readObjects(git, likely)) {
    const [, oid, size] = POINTER.exec(bytes.toString("latin1")) ?? [];
    if (oid !== undefined) found.set(oid, { oid, size: Number(size) });
  }
  return [...found.values()];
}

/** A place with objects of Git LFS, and how it may be reached. */
export interface LfsServer {
  /** The address of the repository. */
  readonly url: string;
  readonly credentials: Credentials;
  /** Throws for a host that may not be reached. */
  readonly resolve: HostResolver | undefined;
  readonly signal?: AbortSignal;
  /** Milliseconds that an object may take beside those for its bytes. */
  readonly patience?: number;
}

/** Objects in one request: what servers usually allow. */
const BATCH = 100;
const TYPE = "application/vnd.git-lfs+json";
const MOST_ANSWERED = 4 * 1024 * 1024;
const MOST_REDIRECTS = 5;
/** Milliseconds without an answer or data. */
const SILENCE = 60_000;
/** The slowest rate that is accepted, in bytes per millisecond: a slower server probably stalls on purpose. */
const SLOWEST = 16;

/**
 * Fetches objects into a folder (git-lfs, "docs/api/batch.md"). The repository's `.lfsconfig` is not read: it
 * could name any server. Throws if an object cannot be fetched, or is another than asked for.
 */
export async function fetchLfsObjects(
  server: LfsServer,
  folder: string,
  objects: readonly LfsObject[],
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  for (let from = 0; from < objects.length; from += BATCH) {
    const wanted = objects.slice(from, from + BATCH);
    const found = await askFor(server, wanted);
    for (const object of wanted) {
      const action = found.get(object.oid);
      if (action === undefined) throw failed(`its server does not have ${object.oid}`);
      await download(server, action, object, folder);
    }
  }
}

interface DownloadAction {
  readonly href: string;
  readonly header?: Readonly<Record<string, string>>;
}

async function askFor(
  server: LfsServer,
  objects: readonly LfsObject[],
): Promise<Map<string, DownloadAction>> {
  const { user = "git", token } = server.credentials;
  const login = Buffer.from(`${user}:${token}`).toString("base64");
  const body = JSON.stringify({ operation: "download", transfers: ["basic"], objects });
  const headers = {
    accept: TYPE,
    "content-type": TYPE,
    ...(token === undefined ? {} : { authorization: `Basic ${login}` }),
  };
  const url = new URL(`${lfsAddress(server.url)}/objects/batch`);
  const answer = await ask(server, url, { method: "POST", headers, body });
  const { body: text } = await boundedBody(answer, MOST_ANSWERED);
  if (answer.statusCode !== 200) throw failed(`'${url.host}' answered ${answer.statusCode}`);
  const told = parsedJson(text.toString("utf8")) as {
    objects?: readonly { oid?: string; actions?: { download?: DownloadAction } }[];
  };
  return new Map(
    (told?.objects ?? []).flatMap(({ oid = "", actions }) =>
      typeof actions?.download?.href === "string" ? [[oid, actions.download] as const] : [],
    ),
  );
}

/** git-lfs, "docs/api/server-discovery.md". Objects of a repository by SSH are fetched from the same host. */
function lfsAddress(url: string): string {
  const { transport, path, ...place } = parseRemoteUrl(url);
  if (place.host === undefined) throw failed("only servers with HTTPS have such objects");
  const isWeb = transport === "https" || transport === "http";
  const host = hostText(isWeb ? place : { host: place.host });
  const plain = path.replace(/^\//, "").replace(/\.git$/, "");
  return `${transport === "http" ? "http" : "https"}://${host}/${plain}.git/info/lfs`;
}

/** The address may be on any host, with headers of its own: our credentials are not sent there. */
async function download(
  server: LfsServer,
  { href, header }: DownloadAction,
  { oid, size }: LfsObject,
  folder: string,
): Promise<void> {
  const path = join(folder, oid);
  const unfinished = unfinishedName(path);
  await using ends = new AsyncDisposableStack();
  ends.defer(() => rm(unfinished, { force: true }));
  const from = URL.parse(href);
  if (from === null) throw failed("its server names no address");
  const answer = await ask(server, from, { method: "GET", headers: header ?? {} });
  if (answer.statusCode !== 200) throw failed(`'${from.host}' answered ${answer.statusCode}`);
  const hash = createHash("sha256");
  const late = performance.now() + (server.patience ?? SILENCE);
  let bytes = 0;
  const measured = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > size) throw failed(`'${from.host}' sends more than its ${size} bytes`);
      const isSlow = performance.now() > late + bytes / SLOWEST;
      if (isSlow) throw failed(`'${from.host}' sends less than 16 KB in a second`);
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(measured, createWriteStream(unfinished, { mode: 0o644 }));
  if (bytes !== size || hash.digest("hex") !== oid) {
    throw failed(`'${from.host}' sent something other than ${oid}`);
  }
  await rename(unfinished, path);
}

interface LfsRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends a request to addresses that were checked. A redirect is checked like the first address, and gets no header. */
async function ask(
  server: LfsServer,
  url: URL,
  { method, headers, body }: LfsRequest,
  redirects = 0,
): Promise<IncomingMessage> {
  const isPlain = url.protocol === "http:" && server.url.startsWith("http:");
  if (url.protocol !== "https:" && !isPlain) throw failed(`'${url.protocol}' is not HTTPS`);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = (await server.resolve?.(host)) ?? [];
  if (addresses.length === 0) throw failed(`'${host}' has no address that may be reached`);
  const { signal } = server;
  const lookup = lookupAmong(addresses);
  const options = { method, headers, lookup, agent: false, timeout: SILENCE, signal };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = clientFor(url).request(url, options, resolve);
    request.on("error", (error) => reject(failed(`'${url.host}': ${error.message}`)));
    request.on("timeout", () => request.destroy(new Error("it does not answer")));
    request.end(body);
  });
  const { statusCode = 0, headers: told } = answer;
  if (method !== "GET" || statusCode < 301 || statusCode > 308) return answer;
  answer.destroy();
  const next = URL.parse(told.location ?? "", url);
  if (next === null || redirects === MOST_REDIRECTS) throw failed(`'${url.host}' leads nowhere`);
  return await ask(server, next, { method, headers: {} }, redirects + 1);
}

function failed(why: string): TrunklineError {
  return new TrunklineError("unavailable", `Cannot fetch files of Git LFS: ${why}.`);
}

/** The objects that a folder does not have. */
export function missingObjects(folder: string, objects: readonly LfsObject[]): LfsObject[] {
  return objects.filter(({ oid }) => !existsSync(join(folder, oid)));
}
