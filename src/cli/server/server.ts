import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { maskText } from "../../base/text/mask.ts";
import { suggest } from "../../base/text/suggest.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import type { Config } from "../../config/config.ts";
import { keyText } from "../../config/layer.ts";
import { loadConfig } from "../../config/load.ts";
import { AppContext } from "../../config/app-context.ts";
import { gatewaySockets } from "../../server/relay/gateway-sockets.ts";
import { serversNow } from "../../server/relay/reach-gateway.ts";
import { openTools } from "../../app/tool/open-tools.ts";
import { ServerLogins } from "../../upstream/open/server-logins.ts";
import { serverReferences } from "../../upstream/open/server-references.ts";
import { ApprovalsFile } from "../../store/approval/approvals-file.ts";
import { logIn } from "../../upstream/oauth/log-in.ts";
import type { Login, LoginState, LoginStore } from "../../upstream/oauth/login-tokens.ts";
import { OAuthHttp, revokeLogin } from "../../upstream/oauth/oauth-http.ts";
import { withReferences } from "../../upstream/references.ts";
import { type AddressSettings, isAddress, shownSource } from "../../upstream/settings.ts";
import type { UpstreamStatus } from "../../upstream/upstream.ts";
import {
  addEntry,
  type Editing,
  type EntrySection,
  fileOf,
  inputOf,
  noteMissingProgram,
  pathFor,
  programOf,
  readPairs,
  removeEntry,
} from "../config/edit-entry.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { firstLine, linesText, print, printList, table } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { openPage } from "../shell/open-page.ts";

/**
 * `trunkline server list`. Starts none of them: the numbers are from when each was last seen. A gateway
 * that runs says which of them have an instance for each client.
 */
export async function list(invocation: Invocation): Promise<number> {
  const { values, err } = invocation;
  const loaded = await loadConfig(inputOf(invocation));
  for (const warning of loaded.warnings) err(`warning: ${warning}\n`);
  const approvals = [...(await new ApprovalsFile(loaded.config.data).read()).values()];
  const { data } = loaded.config;
  const running = await serversNow(data, gatewaySockets(data));
  const logins = new ServerLogins({ data: loaded.config.data, env: invocation.env });
  const known = Object.entries(loaded.config.mcpServers).map(async ([name, settings]) => {
    const part = ["openapi", "command", "url"].find((key) => key in settings) ?? "";
    const origin = loaded.origins.get(keyText(["mcpServers", name, part]));
    const tools = approvals.filter(({ server }) => server === name);
    const held = tools.filter(({ held: waiting }) => waiting !== undefined).length;
    // A server that asks questions is given an instance for each client while a gateway runs.
    const switched = running.find((one) => one.name === name && one.isSwitched === true);
    return {
      name,
      ...(settings.disabled === true ? { disabled: true } : {}),
      instance: switched?.instance ?? settings.instance ?? "shared",
      ...(switched === undefined ? {} : { isSwitched: true }),
      runs: maskText(shownSource(settings)),
      from: origin === undefined ? "" : fileOf(invocation, origin.where),
      tools: tools.length,
      held,
      ...(isAddress(settings) && URL.canParse(settings.url)
        ? { login: await logins.of(name, new URL(settings.url)).state() }
        : {}),
    };
  });
  const servers = await Promise.all(known);
  const rows = servers.map(
    ({ name, runs, from, tools, held, instance, isSwitched, disabled, login }) => {
      const each = isSwitched === true ? `${instance}, since it asks` : instance;
      const shown = disabled === true ? "disabled" : toolsText(tools, held);
      return [name, shown, each, loginText(login ?? {}), from, runs];
    },
  );
  const headings = ["NAME", "TOOLS", "INSTANCE", "LOGIN", "FROM", "COMMAND, URL OR DOCUMENT"];
  const none = "There are no MCP servers. Add one with `trunkline server add NAME -- COMMAND`.";
  printList(invocation, { servers }, [headings, ...rows], none);
  if (values.json !== true && servers.some(({ held }) => held > 0)) err(`${CHECK_HELD}\n`);
  return 0;
}

const CHECK_HELD = "Check held tools with `trunkline tool diff`.";

function toolsText(tools: number, held: number): string {
  if (tools === 0) return "not seen yet";
  return held === 0 ? String(tools) : `${tools}, ${held} held`;
}

/** The state of a login in a few words; empty if nobody has logged in. */
function loginText({ issuer, ended, wanted, expiresAt, isRenewed }: LoginState): string {
  if (ended !== undefined) return "ended";
  if (issuer === undefined) return "";
  if (isRenewed !== true && expiresAt !== undefined && expiresAt < Date.now()) return "expired";
  return wanted === undefined ? "logged in" : "logged in, wants more";
}

const SERVERS: EntrySection = { what: "server", path: ["mcpServers"] };

type ServerValues = Editing &
  OptionValues<"cwd", "replace", "env" | "header"> & { readonly transport?: "http" | "sse" };

/** `trunkline server add NAME -- COMMAND…|URL` */
export async function add(invocation: Invocation<ServerValues>): Promise<number> {
  const [name = "", ...rest] = invocation.positionals;
  const settings = await settingsOf(invocation, rest);
  const next = `Test it with \`trunkline server test ${/\s/.test(name) ? `'${name}'` : name}\`.`;
  const code = await addEntry(invocation, SERVERS, name, settings, next);
  if ("command" in settings) noteMissingProgram(invocation, rest[0] ?? "");
  return code;
}

/** `trunkline server remove NAME` */
export async function remove(invocation: Invocation<Editing>): Promise<number> {
  return removeEntry(invocation, SERVERS, invocation.positionals[0] ?? "");
}

async function settingsOf(
  invocation: Invocation<ServerValues>,
  rest: readonly string[],
): Promise<Record<string, unknown>> {
  const { env, header, transport, cwd } = invocation.values;
  const [first = "", ...args] = rest;
  if (/^[a-z]+:\/\//i.test(first)) {
    refuse(args.length > 0, `'${args[0]}' after a URL`);
    refuse(env !== undefined, "--env with a URL: no program is started");
    refuse(cwd !== undefined, "--cwd with a URL: no program is started");
    const headers = await readPairs("--header", header);
    return {
      ...(transport === "sse" ? { type: "sse" } : {}),
      url: first,
      ...(header === undefined ? {} : { headers }),
    };
  }
  refuse(header !== undefined, "--header with a program: only a URL gets headers");
  refuse(transport !== undefined, "--transport with a program: only a URL has one");
  const variables = await readPairs("--env", env);
  return {
    ...programOf(invocation, rest),
    ...(env === undefined ? {} : { env: variables }),
    ...(cwd === undefined ? {} : { cwd: pathFor(invocation, cwd) }),
  };
}

function refuse(isWrong: boolean, what: string): void {
  if (isWrong) throw new TrunklineError("usage", `Cannot use ${what}.`);
}

/** The settings of a configured server. `doing` is what cannot be done without it. */
function namedServer(
  { mcpServers }: Pick<Config, "mcpServers">,
  name: string,
  doing: string,
): Config["mcpServers"][string] {
  const settings = Object.hasOwn(mcpServers, name) ? mcpServers[name] : undefined;
  if (settings !== undefined) return settings;
  const names = Object.keys(mcpServers);
  const [near] = suggest(name, names);
  const all = names.length === 0 ? "There are none." : `There are: ${names.join(", ")}.`;
  const next = near === undefined ? all : `Did you mean '${near}'?`;
  throw new TrunklineError(
    "not-found",
    `Cannot ${doing} server '${name}': no such server. ${next}`,
  );
}

/** Milliseconds after which the person is told that the server is still starting. */
const SLOW = 3_000;

/** `trunkline server test NAME` */
export async function test(invocation: Invocation): Promise<number> {
  const { positionals, err } = invocation;
  const [name = ""] = positionals;
  const { config } = await openQuietApp(invocation);
  await using opened = await openTools(new AppContext(alone(config, name)));
  const started = performance.now();
  const slow = setTimeout(() => {
    err(`'${visibleLine(name)}' is still starting. Its first start may download it.\n`);
  }, SLOW);
  await opened.started().finally(() => clearTimeout(slow));
  const milliseconds = Math.round(performance.now() - started);
  const [status] = opened.status();
  const { tools } = opened.offer;
  const offered = tools.list().filter(({ source }) => source?.server === name);
  const held = tools.held().filter(({ source }) => source.server === name);
  const works = status?.state === "up" && status.listError === undefined;
  const names = offered.map(({ definition }) => definition.name);
  const heldNames = held.map(({ tool }) => tool.definition.name);
  const facts = { ...status, milliseconds, tools: names, held: heldNames };
  if (!works) {
    return print(invocation, facts, "", { notes: failureLines(name, status), code: 1 });
  }
  const count = offered.length + held.length;
  const speaks = status.revision === undefined ? "" : `, MCP ${status.revision}`;
  const says = `'${visibleLine(name)}' works: ${counted(count, "tool")} after ${milliseconds} ms${speaks}.`;
  const none = `It has no tools: ${visibleLine(status.noTools ?? "all are hidden")}.`;
  const rows = [
    ...offered.map(({ definition }) => toolRow(definition)),
    ...held.map(({ tool }) => toolRow(tool.definition, "(held) ")),
  ];
  const text = linesText([says, ...(count === 0 ? [none] : [])]) + table(rows);
  return print(invocation, facts, text, { notes: held.length > 0 ? [CHECK_HELD] : [] });
}

/** The configuration with this server only: nothing else is started. */
function alone(config: Config, name: string): Config {
  const { bus, log } = config;
  const settings = namedServer(config, name, "test");
  return {
    ...config,
    mcpServers: { [name]: settings },
    bus: { ...bus, plugins: {} },
    // The command prints failures itself, so they are not logged too.
    log: log.verbose ? log : { level: "error", verbose: false, requests: false },
  };
}

function failureLines(name: string, status: UpstreamStatus | undefined): string[] {
  const list = status?.listError && `it could not list its tools: ${status.listError}`;
  const why = list ?? status?.lastError ?? "it did not start";
  // The error may quote its last line, and a server that is tried twice says the same twice.
  const lines = [...new Set(status?.said)].filter((line) => !why.includes(line)).slice(-5);
  const said = lines.map((line) => `  ${visibleLine(line)}`);
  const heard = said.length === 0 ? [] : ["Its last output:", ...said];
  return [`'${visibleLine(name)}' does not work: ${visibleLine(why)}`, ...heard];
}

function toolRow(
  { name, title, description }: { name: string; title?: unknown; description?: unknown },
  mark = "",
): string[] {
  const says = [title, description].find((text) => typeof text === "string");
  return [`  ${name}`, `${mark}${firstLine(says ?? "")}`];
}

/** Milliseconds that a person has for a login. */
const PATIENCE = 10 * 60_000;

type LoginValues = OptionValues<never, "print">;

/** `trunkline server login NAME` */
export async function login(invocation: Invocation<LoginValues>): Promise<number> {
  const { values, positionals, env, err } = invocation;
  const [name = ""] = positionals;
  const { settings, store, http, place } = await reach(invocation, "log in to");
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(tooLate(name)), PATIENCE);
  using pasting = new Pasting((text) => err(text));
  let made: Login;
  try {
    made = await logIn({
      server: new URL(settings.url),
      settings: settings.oauth ?? {},
      headers: settings.headers ?? {},
      wanted: (await store.state()).wanted ?? [],
      http,
      signal: stop.signal,
      show: ({ issuer, link, paste }) => {
        err(`Log in to '${visibleLine(name)}' at ${visibleLine(issuer)}:\n\n  ${link}\n\n`);
        pasting.start(paste);
        const opened = values.print === true ? Promise.resolve(false) : openPage(link, env);
        background(
          opened.then((isOpen) => err(isOpen ? OPENED : NOT_OPENED)),
          "Opening a browser",
        );
      },
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TrunklineError("unavailable", `Cannot log in to '${name}': ${why}.`);
  } finally {
    clearTimeout(late);
  }
  await store.write(made);
  const { issuer, scopes, expiresAt, refreshToken } = made;
  const isRenewed = refreshToken !== undefined;
  const says = `Logged in to '${visibleLine(name)}'. The login is stored in ${await place()}.\n`;
  return print(invocation, { server: name, issuer, scopes, expiresAt, isRenewed }, says);
}

const OPENED = "Your browser shows it. If it does not, open the link, on any machine.\n";
const NOT_OPENED =
  "Open the link in a browser. If that is on another machine, its last page cannot be loaded: paste " +
  "the address of that page here.\n";

/** `trunkline server logout NAME` */
export async function logout(invocation: Invocation): Promise<number> {
  const { positionals, err } = invocation;
  const [name = ""] = positionals;
  const { store, http } = await reach(invocation, "log out of");
  const known = await store.read();
  let isRevoked = false;
  try {
    if (known !== undefined) isRevoked = await revokeLogin(known, http);
  } catch (error) {
    // The stored login is removed in any case.
    err(
      `warning: ${known?.issuer} did not end the tokens: ${visibleLine((error as Error).message)}\n`,
    );
  }
  await store.remove();
  const wasThere = known !== undefined;
  const ended = isRevoked ? `, and ${known?.issuer} has ended its tokens` : "";
  const at = visibleLine(name);
  const says = wasThere ? `Logged out of '${at}'${ended}.\n` : `There is no login at '${at}'.\n`;
  return print(invocation, { server: name, wasThere, isRevoked }, says);
}

interface Reached {
  readonly settings: AddressSettings;
  readonly store: LoginStore;
  readonly http: OAuthHttp;
  readonly place: () => Promise<string>;
}

async function reach(invocation: Invocation, doing: string): Promise<Reached> {
  const [name = ""] = invocation.positionals;
  const app: AppContext = await openQuietApp(invocation);
  const settings = namedServer(app.config, name, doing);
  const cannot = (why: string) => new TrunklineError("usage", `Cannot ${doing} '${name}': ${why}.`);
  if ("command" in settings) throw cannot("it is a program, which gets secrets as variables");
  if (!isAddress(settings)) throw cannot("an API gets its credentials from 'auth' and 'headers'");
  const resolved = await withReferences(settings, serverReferences(app, invocation.env));
  if (!isAddress(resolved)) throw cannot("it has no address");
  const headers = Object.keys(resolved.headers ?? {}).map((header) => header.toLowerCase());
  if (headers.includes("authorization")) {
    throw cannot("its 'Authorization' header is configured. Remove that from 'headers' first");
  }
  const logins = new ServerLogins({ data: app.config.data, env: invocation.env });
  const server = new URL(resolved.url);
  const trustsIssuer = resolved.oauth?.issuer !== undefined;
  return {
    settings: resolved,
    store: logins.of(name, server),
    http: new OAuthHttp({ server, trustsIssuer }),
    place: () => logins.place(),
  };
}

/** Reads addresses that a person pastes, until the login is over. */
class Pasting implements Disposable {
  readonly #tell: (text: string) => void;
  #stop: (() => void) | undefined;

  constructor(tell: (text: string) => void) {
    this.#tell = tell;
  }

  start(paste: (text: string) => boolean): void {
    const { createInterface } = process.getBuiltinModule("node:readline");
    const lines = createInterface({ input: process.stdin });
    lines.on("line", (line) => {
      if (line.trim() === "" || paste(line)) return;
      this.#tell("This is not the address of the last page of this login. Try again.\n");
    });
    this.#stop = () => {
      lines.close();
      process.stdin.pause();
    };
  }

  [Symbol.dispose](): void {
    this.#stop?.();
  }
}

function tooLate(name: string): Error {
  const minutes = PATIENCE / 60_000;
  return new Error(`nobody logged in to '${name}' within ${minutes} minutes`);
}
