import { isObject } from "../base/check.ts";
import type { Content, PromptResult, ToolResult } from "../tool/tool.ts";
import type { Catalogue } from "./catalogue.ts";

type Entry = Readonly<Record<string, unknown>>;

/** The part of a server that names resources. */
export interface NamingServer {
  readonly name: string;
  readonly catalogue: Catalogue | undefined;
}

/** A resource, or a template, by its server and the URI that it has there. */
export interface ResourceOrigin {
  readonly server: string;
  readonly uri: string;
}

/** URIs of one server that are remembered though they are in none of its lists. */
const MOST_SAID = 1_000;

/**
 * Decides which server a URI belongs to: the server that names it first, in a list, with a tool, or in an
 * answer. Another server's equal URI is shown with that server's name in it, and read under its own.
 */
export class ResourceAddresses {
  /** By server: the addresses that clients get, by the URIs and templates that it names. */
  #shown = new Map<string, Map<string, string>>();
  #origins = new Map<string, ResourceOrigin>();
  /** By server: URIs that only answers named, the oldest first. */
  readonly #said = new Map<string, Set<string>>();
  readonly #ownerByTemplate: (uri: string) => string | undefined;
  readonly #report: (origin: ResourceOrigin, shown: string) => void;

  /** `ownerByTemplate` says to which server a URI belongs that is in no list. */
  constructor(
    ownerByTemplate: (uri: string) => string | undefined,
    report: (origin: ResourceOrigin, shown: string) => void,
  ) {
    this.#ownerByTemplate = ownerByTemplate;
    this.#report = report;
  }

  /**
   * Updates the URIs that all servers name. A server keeps a plain address for as long as it names the URI.
   */
  update(servers: readonly NamingServer[]): void {
    const before = this.#shown;
    this.#shown = new Map();
    this.#origins = new Map();
    const isKept = ({ name }: NamingServer, uri: string): boolean =>
      before.get(name)?.get(uri) === uri;
    const named = servers.map((server) => {
      const listed = new Set<string>(listedUris(server));
      const said = this.#said.get(server.name);
      for (const uri of listed) said?.delete(uri);
      const uris = listed.union(said ?? new Set<string>());
      for (const uri of uris) if (isKept(server, uri)) this.#place(server.name, uri, uri);
      return [server, uris] as const;
    });
    for (const [server, uris] of named) {
      for (const uri of uris) if (!isKept(server, uri)) this.#place(server.name, uri, uri, before);
    }
    const names = new Set(servers.map(({ name }) => name));
    for (const name of this.#said.keys()) if (!names.has(name)) this.#said.delete(name);
  }

  /** The address that clients get for a URI, or a template, that a server names. */
  shown(server: string, uri: string): string {
    const known = this.#shown.get(server)?.get(uri);
    if (known !== undefined) return known;
    const owner = this.#ownerByTemplate(uri) ?? server;
    this.#say(server, uri);
    return this.#place(server, uri, owner === server ? uri : withServer(server, uri), this.#shown);
  }

  /** The server and URI behind an address that a server has named. */
  originOf(shown: string): ResourceOrigin | undefined {
    return this.#origins.get(shown);
  }

  /** An entry of a list under its shown address, which `member` has. */
  entry(server: string, entry: Entry, member: "uri" | "uriTemplate"): Entry {
    const uri = entry[member];
    if (typeof uri !== "string") return entry;
    const shown = this.shown(server, uri);
    if (shown === uri) return entry;
    const meta = isObject(entry._meta) ? entry._meta : {};
    return { ...entry, [member]: shown, _meta: { ...meta, [ORIGIN_META]: { server, uri } } };
  }

  /** A tool, or a result, whose `_meta` may name the page that shows it. */
  withPage<T extends Entry>(server: string, one: T): T {
    const { _meta } = one;
    if (!isObject(_meta)) return one;
    const { ui, [FLAT_PAGE]: flat } = _meta;
    const nested = isObject(ui) && typeof ui.resourceUri === "string" ? ui.resourceUri : undefined;
    const page = nested === undefined ? undefined : this.shown(server, nested);
    const old = typeof flat === "string" ? this.shown(server, flat) : flat;
    if (page === nested && old === flat) return one;
    const changed = {
      ..._meta,
      ...(page === undefined ? {} : { ui: { ...(ui as Entry), resourceUri: page } }),
      ...(old === undefined ? {} : { [FLAT_PAGE]: old }),
    };
    return { ...one, _meta: changed };
  }

  toolResult(server: string, result: ToolResult): ToolResult {
    const content = this.#each(result.content, (one) => this.#content(server, one));
    return this.withPage(server, content === result.content ? result : { ...result, content });
  }

  promptResult(server: string, result: PromptResult): PromptResult {
    if (!Array.isArray(result.messages)) return result;
    const messages = this.#each(result.messages as unknown[], (message) => {
      if (!isObject(message) || !isObject(message.content)) return message;
      const content = this.#content(server, message.content as Content);
      return content === message.content ? message : { ...message, content };
    });
    return messages === result.messages ? result : { ...result, messages };
  }

  /** Things that have a URI each. `asked` has the address of the URI that was asked for, if any. */
  entries<T>(
    server: string,
    all: readonly T[],
    asked?: ReadonlyMap<unknown, string>,
  ): readonly T[] {
    return this.#each(all, (one) => {
      const uri = isObject(one) ? asked?.get(one.uri) : undefined;
      return uri === undefined ? this.#withUri(server, one) : { ...one, uri };
    });
  }

  #content(server: string, content: Content): Content {
    if (content.type === "resource_link") return this.#withUri(server, content);
    if (content.type !== "resource") return content;
    const resource = this.#withUri(server, content.resource);
    return resource === content.resource ? content : { ...content, resource };
  }

  #withUri<T>(server: string, one: T): T {
    if (!isObject(one) || typeof one.uri !== "string") return one;
    const uri = this.shown(server, one.uri);
    return uri === one.uri ? one : { ...one, uri };
  }

  /** The same list where nothing in it changes. */
  #each<T>(all: readonly T[], change: (one: T) => T): readonly T[] {
    const changed = all.map(change);
    return changed.every((one, at) => one === all[at]) ? all : changed;
  }

  /** Gives a URI the wanted address, or the next one that is free. `before` has those of earlier. */
  #place(
    server: string,
    uri: string,
    wanted: string,
    before?: ReadonlyMap<string, ReadonlyMap<string, string>>,
  ): string {
    let shown = wanted;
    // An address of the web is the same for everybody: clients fetch it themselves.
    if (/^https?:/i.test(uri)) shown = uri;
    else while (this.#origins.has(shown)) shown = withServer(server, shown);
    const origin = { server, uri };
    if (!this.#origins.has(shown)) this.#origins.set(shown, origin);
    if (shown !== uri && before?.get(server)?.get(uri) !== shown) this.#report(origin, shown);
    this.#shown.getOrInsertComputed(server, () => new Map()).set(uri, shown);
    return shown;
  }

  #say(server: string, uri: string): void {
    const said = this.#said.getOrInsertComputed(server, () => new Set());
    said.add(uri);
    if (said.size <= MOST_SAID) return;
    const [oldest = ""] = said;
    said.delete(oldest);
    const shown = this.#shown.get(server)?.get(oldest) ?? "";
    this.#shown.get(server)?.delete(oldest);
    if (this.#origins.get(shown)?.server === server) this.#origins.delete(shown);
  }
}

/** The member of an entry's `_meta` that says whose it is, where its address was changed. */
const ORIGIN_META = "trunkline/origin";

/** MCP Apps before 2026-01-26 had the page of a tool here; hosts still read it. */
const FLAT_PAGE = "ui/resourceUri";

const SCHEME = /^(?:[A-Za-z][\w+.-]*:(?:\/\/)?)?/;

function withServer(server: string, uri: string): string {
  const mark = `${encodeURIComponent(server.toWellFormed())}+`;
  return uri.replace(SCHEME, (scheme) => scheme + mark);
}

/** An address without what was put in front of the URI, of which there are so many characters. */
export function withoutServer(shown: string, characters: number): string {
  const from = SCHEME.exec(shown)?.[0].length ?? 0;
  return shown.slice(0, from) + shown.slice(from + characters);
}

/** Every URI and template that is in a server's lists, also those of the pages of its tools. */
function* listedUris({ catalogue }: NamingServer): Generator<string> {
  for (const { uri } of catalogue?.resources ?? []) if (typeof uri === "string") yield uri;
  for (const { uriTemplate } of catalogue?.templates ?? []) {
    if (typeof uriTemplate === "string") yield uriTemplate;
  }
  for (const { _meta } of catalogue?.tools ?? []) {
    if (!isObject(_meta)) continue;
    const { ui, [FLAT_PAGE]: flat } = _meta;
    if (isObject(ui) && typeof ui.resourceUri === "string") yield ui.resourceUri;
    if (typeof flat === "string") yield flat;
  }
}
