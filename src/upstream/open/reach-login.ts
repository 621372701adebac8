import { TrunklineError } from "../../base/errors.ts";
import { suggest } from "../../base/text/suggest.ts";
import type { AppContext } from "../../config/app-context.ts";
import type { Config } from "../../config/config.ts";
import { logIn, type LogInOptions } from "../oauth/log-in.ts";
import type { Login, LoginStore } from "../oauth/login-tokens.ts";
import { OAuthHttp, revokeLogin } from "../oauth/oauth-http.ts";
import { withReferences } from "../references.ts";
import {
  type AddressSettings,
  atProvider,
  hasAuthorization,
  identityProviderOf,
  isAddress,
  isLoginless,
} from "../settings.ts";
import { ServerLogins } from "./server-logins.ts";
import { serverReferences } from "./server-references.ts";

/** The settings of a configured server. `doing` is what cannot be done without it. */
export function namedServer(
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

/** A server that one can log in to. */
export interface LoginReach {
  readonly name: string;
  readonly settings: AddressSettings;
  /** Whether that is done at the identity provider that speaks for people there. */
  readonly isIdentity?: boolean;
  readonly store: LoginStore;
  readonly http: OAuthHttp;
  readonly place: () => Promise<string>;
}

/**
 * Finds the login of a server: the person's own, where each has one, or that of all. `doing` is what is to be
 * done with it, such as "log in to".
 */
export async function reachLogin(
  app: AppContext,
  env: NodeJS.ProcessEnv,
  name: string,
  doing: string,
  person: string,
): Promise<LoginReach> {
  const settings = namedServer(app.config, name, doing);
  const cannot = (why: string) => new TrunklineError("usage", `Cannot ${doing} '${name}': ${why}.`);
  if ("command" in settings) throw cannot("it is a program, which gets secrets as variables");
  if (!isAddress(settings)) throw cannot("an API gets its credentials from 'auth' and 'headers'");
  if (isLoginless(settings)) throw cannot("each person's token for the gateway is passed on");
  const resolved = await withReferences(settings, serverReferences(app, env));
  if (!isAddress(resolved)) throw cannot("it has no address");
  if (hasAuthorization(resolved)) {
    throw cannot("its 'Authorization' header is configured. Remove that from 'headers' first");
  }
  const logins = new ServerLogins({ data: app.config.data, env });
  const provider = identityProviderOf(resolved);
  const place = provider === undefined ? resolved : atProvider(provider);
  const server = new URL(place.url);
  const trustsIssuer = place.oauth?.issuer !== undefined;
  return {
    name,
    settings: place,
    isIdentity: provider !== undefined,
    store: logins.ofCaller(person, name, resolved),
    http: new OAuthHttp({ server, trustsIssuer }),
    place: () => logins.place(),
  };
}

/** Milliseconds that a person has for a login. */
const PATIENCE = 10 * 60_000;

/** Logs a person in, by the link that `show` is given, and keeps the login. */
export async function logInTo(
  { name, settings, isIdentity = false, store, http }: LoginReach,
  show: LogInOptions["show"],
  signal?: AbortSignal,
  comeback?: LogInOptions["comeback"],
): Promise<Login> {
  const stop = new AbortController();
  // A gateway that is to end does not wait for somebody's browser.
  const late = `nobody logged in to '${name}' within ${PATIENCE / 60_000} minutes`;
  using _timer = setTimeout(() => stop.abort(new Error(late)), PATIENCE).unref();
  let made: Login;
  try {
    made = await logIn({
      server: new URL(settings.url),
      settings: settings.oauth ?? {},
      isIdentity,
      headers: settings.headers ?? {},
      wanted: (await store.state()).wanted ?? [],
      http,
      signal: signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]),
      show,
      comeback,
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TrunklineError("unavailable", `Cannot log in to '${name}': ${why}.`);
  }
  try {
    await store.write(made);
  } catch (error) {
    // Otherwise its tokens would stay valid without anybody knowing of them.
    const isEnded = await revokeLogin(made, http).catch(() => false);
    const then = isEnded ? "so it was ended there" : "and could not be ended there";
    const why = error instanceof Error ? error.message : String(error);
    const says = `The login at ${made.issuer} could not be stored, ${then}: ${why}`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
  return made;
}

/**
 * Ends a login here and at its issuer. Returns what was there, whether its tokens are ended, and if not, why:
 * the stored login is removed in any case.
 */
export async function logOutOf({ store, http }: Pick<LoginReach, "store" | "http">): Promise<{
  readonly known: Login | undefined;
  readonly isRevoked: boolean;
  readonly problem?: string;
}> {
  // A renewal that is under way would store its login again.
  return await store.alone(async () => {
    const known = await store.read();
    try {
      const isRevoked = known !== undefined && (await revokeLogin(known, http));
      return { known, isRevoked };
    } catch (error) {
      return { known, isRevoked: false, problem: (error as Error).message };
    } finally {
      await store.remove();
    }
  });
}
