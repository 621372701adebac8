import { background } from "../../base/background.ts";
import { maskText } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import { keyText } from "../../config/layer.ts";
import { loadConfig } from "../../config/load.ts";
import { gatewaySockets } from "../../server/relay/gateway-sockets.ts";
import { serversNow } from "../../server/relay/reach-gateway.ts";
import { testServer } from "../../app/tool/test-server.ts";
import type { ServerTest } from "../../server/dashboard/sources.ts";
import { SERVER_ENTRIES } from "../../config/edit/config-entries.ts";
import { serverEntry } from "../../config/edit/server-entry.ts";
import { OWNER } from "../../base/principal.ts";
import { TrunklineError } from "../../base/errors.ts";
import { type LoginReach, logInTo, logOutOf, reachLogin } from "../../upstream/open/reach-login.ts";
import { loginWords, ServerLogins, shownLogin } from "../../upstream/open/server-logins.ts";
import { ApprovalsFile } from "../../store/approval/approvals-file.ts";
import { isAddress, shownSource } from "../../upstream/settings.ts";
import {
  addEntry,
  type EditValues,
  fileOf,
  inputOf,
  noteMissingProgram,
  pathFor,
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
export async function list(invocation: Invocation<OptionValues<never, "people">>): Promise<number> {
  const { values, err } = invocation;
  if (values.people === true) return listPeople(invocation);
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
        ? { login: await logins.ofCaller(OWNER.id, name, settings).state() }
        : {}),
    };
  });
  const servers = await Promise.all(known);
  const rows = servers.map(
    ({ name, runs, from, tools, held, instance, isSwitched, disabled, login }) => {
      const each = isSwitched === true ? `${instance}, since it asks` : instance;
      const shown = disabled === true ? "disabled" : toolsText(tools, held);
      return [name, shown, each, loginWords(login ?? {}), from, runs];
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

type ServerValues = EditValues &
  OptionValues<"cwd", "replace", "env" | "header"> & { readonly transport?: "http" | "sse" };

/** `trunkline server add NAME -- COMMAND…|URL` */
export async function add(invocation: Invocation<ServerValues>): Promise<number> {
  const [name = "", ...rest] = invocation.positionals;
  const settings = await settingsOf(invocation, rest);
  const next = `Test it with \`trunkline server test ${/\s/.test(name) ? `'${name}'` : name}\`.`;
  const code = await addEntry(invocation, SERVER_ENTRIES, name, settings, next);
  if ("command" in settings) noteMissingProgram(invocation, rest[0] ?? "");
  return code;
}

/** `trunkline server remove NAME` */
export async function remove(invocation: Invocation<EditValues>): Promise<number> {
  return removeEntry(invocation, SERVER_ENTRIES, invocation.positionals[0] ?? "");
}

async function settingsOf(
  invocation: Invocation<ServerValues>,
  words: readonly string[],
): Promise<Record<string, unknown>> {
  const { env, header, transport, cwd } = invocation.values;
  const server = {
    ...{ words, transport, cwd },
    env: env && (() => readPairs("--env", env)),
    headers: header && (() => readPairs("--header", header)),
  };
  return serverEntry(server, (path) => pathFor(invocation, path));
}

/** Milliseconds after which the person is told that the server is still starting. */
const SLOW = 3_000;

/** `trunkline server test NAME` */
export async function test(invocation: Invocation): Promise<number> {
  const { positionals, err } = invocation;
  const [name = ""] = positionals;
  const { config } = await openQuietApp(invocation);
  const slow = setTimeout(() => {
    err(`'${visibleLine(name)}' is still starting. Its first start may download it.\n`);
  }, SLOW);
  const tested = await testServer(config, name).finally(() => clearTimeout(slow));
  const { status, milliseconds, offered, held } = tested;
  const names = offered.map((tool) => tool.name);
  const heldNames = held.map((tool) => tool.name);
  const facts = { ...status, milliseconds, tools: names, held: heldNames };
  if (!tested.works || status === undefined) {
    return print(invocation, facts, "", { notes: failureLines(name, tested), code: 1 });
  }
  const count = offered.length + held.length;
  const speaks = status.revision === undefined ? "" : `, MCP ${status.revision}`;
  const says = `'${visibleLine(name)}' works: ${counted(count, "tool")} after ${milliseconds} ms${speaks}.`;
  const none = `It has no tools: ${visibleLine(status.noTools ?? "all are hidden")}.`;
  const rows = [
    ...offered.map((tool) => toolRow(tool)),
    ...held.map((tool) => toolRow(tool, "(held) ")),
  ];
  const text = linesText([says, ...(count === 0 ? [none] : [])]) + table(rows);
  return print(invocation, facts, text, { notes: held.length > 0 ? [CHECK_HELD] : [] });
}

function failureLines(name: string, { status, why }: ServerTest): string[] {
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

type LoginValues = OptionValues<never, "print">;

/** `trunkline server login NAME` */
export async function login(invocation: Invocation<LoginValues>): Promise<number> {
  const { values, positionals, env, err } = invocation;
  const [name = ""] = positionals;
  const reached = await reach(invocation, "log in to");
  using pasting = new DisposableStack();
  const made = await logInTo(reached, ({ issuer, link, paste }) => {
    err(`Log in to '${visibleLine(name)}' at ${visibleLine(issuer)}:\n\n  ${link}\n\n`);
    pasting.defer(readPasted(paste, err));
    const opened = values.print === true ? Promise.resolve(false) : openPage(link, env);
    const opening = opened.then((isOpen) => err(isOpen ? OPENED : NOT_OPENED));
    background(opening, "Opening a browser");
  });
  const { issuer, scopes, expiresAt, refreshToken } = made;
  const isRenewed = refreshToken !== undefined;
  const says = `Logged in to '${visibleLine(name)}'. The login is stored in ${await reached.place()}.\n`;
  return print(invocation, { server: name, issuer, scopes, expiresAt, isRenewed }, says);
}

const OPENED = "Your browser shows it. If it does not, open the link, on any machine.\n";
const NOT_OPENED =
  "Open the link in a browser. If that is on another machine, its last page cannot be loaded: paste " +
  "the address of that page here.\n";

async function listPeople(invocation: Invocation): Promise<number> {
  const found = await (await loginsOf(invocation)).listOf();
  const rows = found.map((login) => Object.values(shownLogin(login)));
  const logins = found.map(({ name: server, ...login }) => ({ server, ...login }));
  const none = "Nobody has a login of their own at a server.";
  return printList(invocation, { logins }, [["PERSON", "NAME", "LOGIN", "ISSUER"], ...rows], none);
}

async function loginsOf(invocation: Invocation): Promise<ServerLogins> {
  const { data } = (await openQuietApp(invocation)).config;
  return new ServerLogins({ data, env: invocation.env });
}

/** `trunkline server logout [NAME]` */
export async function logout(invocation: Invocation<OptionValues<"person">>): Promise<number> {
  const { positionals, err, values } = invocation;
  const [name = ""] = positionals;
  if (values.person !== undefined) return logoutOf(invocation, values.person, positionals[0]);
  if (name === "") {
    const next = "Give the name of a server, or --person";
    throw new TrunklineError("usage", `Cannot log out: nothing says of what. ${next}`);
  }
  const { known, isRevoked, problem } = await logOutOf(await reach(invocation, "log out of"));
  if (problem !== undefined) {
    err(`warning: ${known?.issuer} did not end the tokens: ${visibleLine(problem)}\n`);
  }
  const wasThere = known !== undefined;
  const ended = isRevoked ? `, and ${known?.issuer} has ended its tokens` : "";
  const at = visibleLine(name);
  const says = wasThere ? `Logged out of '${at}'${ended}.\n` : `There is no login at '${at}'.\n`;
  return print(invocation, { server: name, wasThere, isRevoked }, says);
}

/** Ends the logins that somebody else has, at a server or at all. */
async function logoutOf(invocation: Invocation, who: string, name?: string): Promise<number> {
  const logins = await loginsOf(invocation);
  const all = await logins.listOf();
  const theirs = all.filter((login) => [login.person, shownLogin(login).person].includes(who));
  const ending = theirs.filter((login) => name === undefined || login.name === name);
  if (ending.length === 0) {
    const people = [...new Set(all.map((login) => shownLogin(login).person))].map(visibleLine);
    const where = name === undefined ? "" : ` at '${visibleLine(name)}'`;
    const there = `Who has logins: ${people.join(", ") || "nobody"}.`;
    const says = `There is no login of '${visibleLine(who)}'${where}. ${there}`;
    throw new TrunklineError("not-found", says);
  }
  for (const why of await logins.end(ending, "owner")) {
    invocation.err(`warning: tokens are good until they expire at ${visibleLine(why)}\n`);
  }
  const ended = ending.map(({ name: server, person }) => ({ server, person }));
  const servers = ended.map(({ server = "" }) => visibleLine(server)).join(", ");
  return print(invocation, { ended }, `Ended the logins of '${visibleLine(who)}': ${servers}.\n`);
}

async function reach(invocation: Invocation, doing: string): Promise<LoginReach> {
  const [name = ""] = invocation.positionals;
  return reachLogin(await openQuietApp(invocation), invocation.env, name, doing, OWNER.id);
}

/** Reads addresses that a person pastes. Returns how to stop. */
function readPasted(paste: (text: string) => boolean, tell: Invocation["err"]): () => void {
  const { createInterface } = process.getBuiltinModule("node:readline");
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    if (line.trim() === "" || paste(line)) return;
    tell("This is not the address of the last page of this login. Try again.\n");
  });
  return () => {
    lines.close();
    process.stdin.pause();
  };
}
