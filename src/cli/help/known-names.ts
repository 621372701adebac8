import { visibleLine } from "../../base/text/visible.ts";
import type { AppContext } from "../../config/app-context.ts";
import { SessionCommands } from "../../session/open/session-commands.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import type { Invocation, NameKind } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";

/** bash expands what it is offered, as if it had been typed, and a project's file may name anything. */
const SAFE = /^[\w.@%+,/][\w.@%+,/:-]*$/;
/** Most names that are offered: nobody reads a longer list. */
const MOST = 200;

/** A name that may follow, and what it means. */
type KnownName = readonly [name: string, describe?: string];

const LISTS: Readonly<
  Record<NameKind, (app: AppContext) => readonly KnownName[] | Promise<readonly KnownName[]>>
> = {
  agent: ({ config }) => [["trunkline", "the built-in agent"], ...keysOf(config.agents)],
  identity: ({ config }) => keysOf(config.identities),
  plugin: ({ config }) => keysOf(config.bus.plugins),
  profile: ({ config }) => keysOf(config.profiles),
  provider: ({ config }) => keysOf(config.models.providers),
  server: ({ config }) => keysOf(config.mcpServers),
  session: async ({ config }) => {
    await using commands = await SessionCommands.open(config.data);
    const sessions = await commands.list();
    return sessions.map(({ id, title }) => [id, visibleLine(title ?? "")]);
  },
  token: ({ config }) => new AccessTokens(config.data).list().map(({ name }) => [name]),
};

/** The names that the person has given to such things. */
export async function knownNames(
  kind: NameKind,
  invocation: Invocation,
): Promise<readonly KnownName[]> {
  const names = await LISTS[kind](await openQuietApp(invocation));
  return names.filter(([name]) => SAFE.test(name)).slice(0, MOST);
}

function keysOf(entries: object): KnownName[] {
  return Object.keys(entries).map((name) => [name]);
}
