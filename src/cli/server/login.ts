import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { AppContext } from "../../gateway/app-context.ts";
import { ServerLogins } from "../../upstream/open/server-logins.ts";
import { serverReferences } from "../../upstream/open/server-references.ts";
import type { Login, LoginStore } from "../../upstream/oauth/login.ts";
import { logIn } from "../../upstream/oauth/log-in.ts";
import { OAuthHttp } from "../../upstream/oauth/oauth-http.ts";
import { revokeLogin } from "../../upstream/oauth/token-requests.ts";
import { withReferences } from "../../upstream/references.ts";
import { type AddressSettings, isAddress } from "../../upstream/settings.ts";
import type { Invocation } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { openPage } from "../shell/open-page.ts";
import { namedServer } from "./named-server.ts";

/** Milliseconds that a person has for a login. */
const PATIENCE = 10 * 60_000;

type LoginValues = { readonly json?: boolean; readonly print?: boolean };

/** `trunkline server login NAME` */
export async function login(invocation: Invocation<LoginValues>): Promise<number> {
  const { values, positionals, env, out, err } = invocation;
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
  if (values.json === true) {
    const isRenewed = refreshToken !== undefined;
    out(`${JSON.stringify({ server: name, issuer, scopes, expiresAt, isRenewed }, null, 2)}\n`);
    return 0;
  }
  out(`Logged in to '${visibleLine(name)}'. The login is stored in ${await place()}.\n`);
  return 0;
}

const OPENED = "Your browser shows it. If it does not, open the link, on any machine.\n";
const NOT_OPENED =
  "Open the link in a browser. If that is on another machine, its last page cannot be loaded: paste " +
  "the address of that page here.\n";

/** `trunkline server logout NAME` */
export async function logout(invocation: Invocation<{ readonly json?: boolean }>): Promise<number> {
  const { values, positionals, out, err } = invocation;
  const [name = ""] = positionals;
  const { store, http } = await reach(invocation, "log out of");
  const known = await store.read();
  let isRevoked = false;
  try {
    if (known !== undefined) isRevoked = await revokeLogin(known, http);
  } catch (error) {
    // What is stored here goes in any case.
    err(
      `warning: ${known?.issuer} did not end the tokens: ${visibleLine((error as Error).message)}\n`,
    );
  }
  await store.remove();
  const wasThere = known !== undefined;
  if (values.json === true) {
    out(`${JSON.stringify({ server: name, wasThere, isRevoked }, null, 2)}\n`);
    return 0;
  }
  const ended = isRevoked ? `, and ${known?.issuer} has ended its tokens` : "";
  const at = visibleLine(name);
  out(wasThere ? `Logged out of '${at}'${ended}.\n` : `There is no login at '${at}'.\n`);
  return 0;
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
