import { resolve } from "node:path";

import { type ApiCall, type ApiRoute, route, textIn } from "../../../base/capability/api-route.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { type Principal, scopeRefusal } from "../../../base/principal.ts";
import { maskText } from "../../../base/text/mask.ts";
import { AppContext } from "../../../config/app-context.ts";
import {
  addConfigEntry,
  removeConfigEntry,
  SERVER_ENTRIES,
} from "../../../config/edit/config-entries.ts";
import { isUrl, serverEntry } from "../../../config/edit/server-entry.ts";
import { loadConfig } from "../../../config/load.ts";
import { logInTo, reachLogin } from "../../../upstream/open/reach-login.ts";
import type { LoginLine, ServerTested } from "../api.ts";
import { JsonLines } from "../json-lines.ts";
import type { DashboardSources } from "../sources.ts";

const MOST_TOOLS = 200;

/** Adding, testing, logging in to and removing other MCP servers, as the commands do. */
export class ServerActions implements Disposable {
  readonly #sources: DashboardSources;
  /** Logins that wait for a person, by the server. */
  readonly #logins = new Map<string, Login>();

  constructor(sources: DashboardSources) {
    this.#sources = sources;
  }

  get routes(): readonly ApiRoute[] {
    return [
      route("POST /api/servers", "admin", (call) => this.#add(call)),
      route("POST /api/servers/:id/test", "admin", ({ id }) => this.#test(id)),
      route("POST /api/servers/:id/login", "admin", (call) => this.#logIn(call)),
      route("POST /api/servers/:id/login/paste", "admin", async (call) => this.#paste(call)),
      route("POST /api/servers/:id/remove", "admin", ({ id }) => this.#remove(id)),
    ];
  }

  [Symbol.dispose](): void {
    for (const { lines } of this.#logins.values()) lines.stop();
  }

  async #add({ principal, body }: ApiCall): Promise<{ file: string; notes: readonly string[] }> {
    const { input } = this.#sources;
    const name = textIn(body, "name").trim();
    const words = wordsIn(body);
    refuseWithoutPrograms(principal, words, body);
    const [env, headers] = [pairsIn(body, "env"), pairsIn(body, "headers")];
    const server = {
      words,
      env: env && (async () => env),
      headers: headers && (async () => headers),
    };
    const entry = await serverEntry(server, (path) => resolve(input.cwd, path));
    const place = { input, kind: "user" } as const;
    const replace = "Remove it first, or choose another name";
    const { file, notes } = await addConfigEntry(place, SERVER_ENTRIES, name, entry, replace);
    return { file, notes };
  }

  async #test(name: string): Promise<ServerTested> {
    const { testServer, input } = this.#sources;
    if (testServer === undefined) {
      throw new TrunklineError("unavailable", "Servers cannot be tested here.");
    }
    const { config } = await loadConfig(input);
    const { works, why, milliseconds, offered, held, status } = await testServer(config, name);
    const names = (all: typeof offered): string[] =>
      all.slice(0, MOST_TOOLS).map((tool) => tool.name);
    return {
      ...{ works, milliseconds, tools: names(offered), held: names(held) },
      ...(works ? {} : { why: maskText(why) }),
      log: (status?.said ?? []).slice(-5).map(maskText),
    };
  }

  /** The page gets the link first, and later that the login is there. Closing the request ends it. */
  async #logIn({ id: name, response }: ApiCall): Promise<undefined> {
    const { input, tools } = this.#sources;
    const { config } = await loadConfig(input);
    const reached = await reachLogin(new AppContext(config), input.env, name, "log in to");
    if (this.#logins.has(name)) {
      const says = `Somebody is logging in to '${name}' now. Finish that, or wait until it ends.`;
      throw new TrunklineError("conflict", says);
    }
    const lines = new JsonLines<LoginLine>(response);
    const login: Login = { lines, paste: () => false };
    this.#logins.set(name, login);
    try {
      const show = ({ issuer, link, paste }: Shown): void => {
        login.paste = paste;
        lines.write({ issuer, link });
      };
      const { issuer } = await logInTo(reached, show, lines.signal);
      lines.write({ done: `Logged in to '${name}' at ${issuer}.` });
      // It goes on with the login, whatever it was refused before.
      await tools.restart(name);
    } catch (error) {
      if (!(error instanceof TrunklineError)) throw error;
      lines.write({ error: maskText(error.message) });
    } finally {
      this.#logins.delete(name);
      lines.end();
    }
  }

  #paste({ id, body }: ApiCall): { ok: true } {
    if (this.#logins.get(id)?.paste(textIn(body, "address")) === true) return { ok: true };
    const says = "This is not the address of the last page of this login. Try again.";
    throw new TrunklineError("usage", says);
  }

  async #remove(name: string): Promise<{ file: string; notes: readonly string[] }> {
    const place = { input: this.#sources.input, kind: "user" } as const;
    const { file, notes } = await removeConfigEntry(place, SERVER_ENTRIES, name);
    return { file, notes };
  }
}

interface Shown {
  readonly issuer: string;
  readonly link: string;
  readonly paste: (text: string) => boolean;
}

interface Login {
  readonly lines: JsonLines<LoginLine>;
  paste: (text: string) => boolean;
}

/** A program does whatever its user can, and `${…}` of the settings reads secrets: both need more than `admin`. */
function refuseWithoutPrograms(
  principal: Principal,
  words: readonly string[],
  body: ApiCall["body"],
): void {
  const isProgram = !isUrl(words[0] ?? "");
  const refers = JSON.stringify([words, body.env ?? {}, body.headers ?? {}]).includes("${");
  if (!isProgram && !refers) return;
  const what = isProgram ? "To name a program" : "To refer to secrets by ${…}";
  const refusal = scopeRefusal(principal, "programs", what);
  if (refusal !== undefined) throw new TrunklineError("untrusted", refusal);
}

function wordsIn({ words }: ApiCall["body"]): readonly string[] {
  const isList = Array.isArray(words) && words.every((word) => typeof word === "string");
  if (isList && words.length > 0 && words[0] !== "") return words;
  throw new TrunklineError("usage", "'words' has to be a command line as a list, or one URL.");
}

function pairsIn(body: ApiCall["body"], member: string): Record<string, string> | undefined {
  const pairs = body[member];
  if (pairs === undefined) return undefined;
  const isObject = typeof pairs === "object" && pairs !== null && !Array.isArray(pairs);
  const entries = isObject ? Object.entries(pairs) : [["", undefined]];
  for (const [name = "", value] of entries) {
    if (/^[\w.-]+$/.test(name) && typeof value === "string") continue;
    throw new TrunklineError("usage", `'${member}' has to be names with texts: '${name}' is not.`);
  }
  return pairs as Record<string, string>;
}
