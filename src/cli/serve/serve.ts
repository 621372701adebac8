import { background } from "../../base/background.ts";
import { typedCommand } from "../../base/process/self-command.ts";
import { shellWord } from "../../base/text/shell-word.ts";
import { VERSION } from "../../base/version.ts";
import { configuredBus } from "../../plugin/open/configured-bus.ts";
import { openData } from "../../config/data-folder.ts";
import { fleetValues } from "../../config/fleet-flags.ts";
import type { FleetGateway, openFleetGateway } from "../../app/fleet/fleet-gateway.ts";
import type { AppContext } from "../../config/app-context.ts";
import { type HttpServer, openHttpServer } from "../../app/serve/http-server.ts";
import { Metrics } from "../../server/http/metrics.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { type GatewaySocketOptions, openGatewaySocket } from "../../server/relay/gateway-socket.ts";
import { digestSettings } from "../../agent/open/session-home.ts";
import { Observers } from "../../server/telemetry/observers.ts";
import { openTools } from "../../app/tool/open-tools.ts";
import { testServer } from "../../app/tool/test-server.ts";
import { repairIdentities } from "../../identity/switch/repair.ts";
import { announceGateway } from "../../store/access/running-gateways.ts";
import { hasSessions } from "../../store/session/session-reader.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { paint } from "../shell/layout.ts";
import { configFlags, globalOptions, openLastingApp } from "../shell/open-app.ts";
import { isAttended, openPage } from "../shell/open-page.ts";

/** Milliseconds that requests in flight have to finish after Ctrl-C. */
const STOP_GRACE = 500;

type ServeValues = OptionValues<
  "host" | "port" | "bus" | "pool" | "name",
  "no-auth" | "unsafe-no-sandbox" | "open"
>;

/** `trunkline serve` */
export async function run(invocation: Invocation<ServeValues>): Promise<number> {
  const { values, err } = invocation;
  const stop = new AbortController();
  const signalled = untilSignal().then(() => stop.abort(new Error("It was stopped")));
  const { host, port, "unsafe-no-sandbox": noSandbox } = values;
  const { bus: url, pool, name } = values;
  const app = await openLastingApp(invocation, {
    ...{ host, port, noSandbox },
    more: fleetValues({ bus: url, pool, name }),
  });
  const isFirst = !hasSessions(app.config.data);
  openData(app.config.data);
  await using _repair = repairIdentities(app.config.data, app.log);
  const metrics = new Metrics();
  (app.observers ??= new Observers()).add(metrics.work);
  // The tools of other nodes need approvals, too.
  const needsApprovals = app.config.fleet.url !== undefined;
  const kind = { isLasting: true, hasOwnBus: true, isShared: true, needsApprovals };
  await using tools = await openTools(app, kind);
  const { config, log, reloading } = app;
  await using bus = configuredBus({ config, log, reloading, offer: tools.offer });
  if (bus.isWanted) await bus.open();
  const noAuth = values["no-auth"] === true;
  const input = { cwd: invocation.cwd, env: invocation.env, flags: configFlags(values) };
  const { offer } = tools;
  await using fleet = await fleetOf(app, { isTyped: url !== undefined, offer });
  const { sharing } = fleet ?? {};
  const sources = {
    ...{ tools, bus, input, fleet: fleet?.view, testServer },
    // A getter: the command is shorter once the person has added the program to PATH.
    get program(): string {
      return [typedCommand(invocation.env), ...globalOptions(invocation).map(shellWord)].join(" ");
    },
  };
  const server = await openHttpServer(app, { noAuth, sources, metrics, sharing });
  try {
    const id = crypto.randomUUID();
    await using _relays = await letRelaysIn(app, {
      id,
      door: server.mcpDoor,
      env: invocation.env,
      servers: () => tools.status(),
      grace: STOP_GRACE,
    });
    // A gateway of a fleet opens them too, so that it notices from the start which sessions move.
    const sessions = await sessionsOf(server, app, invocation.env);
    const gateway = {
      url: server.localUrl,
      browser: server.browserUrl,
      listens: server.origin,
      ...(fleet === undefined ? sessions : {}),
    };
    using _announced = await announceGateway(app.config.data, gateway, id);
    if (server.warning !== undefined) err(`trunkline: warning: ${server.warning}\n`);
    if (noAuth) err(`trunkline: warning: ${NO_AUTH_WARNING}\n`);
    fleet?.join(server.publicUrl ?? server.localUrl);
    await greet(server, invocation);
    await using _demo = await openPages(server, invocation, { isFirst, signal: stop.signal });
    if (values.open === true && values.json !== true) {
      const { offerPath } = await import("./offer-path.ts");
      const { data } = app.config;
      background(offerPath(invocation, { data, signal: stop.signal }), "Offering the command");
    }
    await Promise.race([
      signalled,
      ...(fleet === undefined ? [] : [fleet.fleet.untilRefused(log)]),
    ]);
  } finally {
    stop.abort(new Error("It has ended"));
    await server.close(STOP_GRACE);
  }
  return 0;
}

/** The fleet that the gateway belongs to, where one is configured. */
async function fleetOf(
  app: AppContext,
  options: Parameters<typeof openFleetGateway>[1],
): Promise<FleetGateway | undefined> {
  if (app.config.fleet.url === undefined) return undefined;
  const { openFleetGateway } = await import("../../app/fleet/fleet-gateway.ts");
  return await openFleetGateway(app, options);
}

async function greet(server: HttpServer, invocation: Invocation<ServeValues>): Promise<void> {
  const { values, out, color, isTerminal } = invocation;
  const { origin: url, tokenFile } = server;
  if (values.json === true) {
    const mcp = `${url}/mcp`;
    const acp = `${url.replace("http", "ws")}/acp`;
    const login = await server.loginLink();
    const { pid } = process;
    out(`${JSON.stringify({ ready: true, url, mcp, acp, pid, tokenFile, login })}\n`);
    return;
  }
  // Output that is not a terminal may be a log file, which must not contain a login link.
  const login = isTerminal ? await server.loginLink() : undefined;
  const command = { program: typedCommand(invocation.env), options: globalOptions(invocation) };
  const noAuth = values["no-auth"];
  out(serveWelcome({ ...addressesOf(server), tokenFile, login, color, noAuth, command }));
}

/** With --open: shows the person the demo when they have just begun, and later their dashboard. */
async function openPages(
  server: HttpServer,
  invocation: Invocation<ServeValues>,
  { isFirst, signal }: { readonly isFirst: boolean; readonly signal: AbortSignal },
): Promise<AsyncDisposable | undefined> {
  const { values, env, out, err } = invocation;
  if (values.open !== true || values.json === true || !isAttended(invocation)) return undefined;
  out("\n");
  if (isFirst) {
    try {
      const { beginDemo, showDemo } = await import("../demo/demo.ts");
      const demo = await beginDemo(signal);
      await showDemo(demo, invocation);
      return demo;
    } catch (error) {
      if (signal.aborted) return undefined;
      err(`trunkline: warning: Cannot show the demo: ${(error as Error).message}\n`);
    }
  }
  const isOpen = await openPage(await server.loginLink(), env);
  out(isOpen ? "It is open in your browser.\n" : "No browser can be opened here: use the link.\n");
  return undefined;
}

function addressesOf({ localUrl, publicUrl }: HttpServer): { url: string; publicUrl?: string } {
  return { url: localUrl, ...(publicUrl === undefined ? {} : { publicUrl }) };
}

/** Lets other processes open sessions in this one. If the store fails, they open them themselves. */
async function sessionsOf(
  server: HttpServer,
  { config, log }: AppContext,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly holder?: string; readonly settings?: string }> {
  try {
    return { holder: await server.holder(), settings: digestSettings(config, env) };
  } catch (error) {
    log.warn("session.not-reachable", { error });
    return {};
  }
}

/** Serves the `trunkline mcp` processes of the data folder. If that fails, they serve by themselves. */
async function letRelaysIn(
  app: AppContext,
  options: GatewaySocketOptions,
): Promise<AsyncDisposable | undefined> {
  return await openGatewaySocket(app, options).catch((error: unknown) => {
    app.log.warn("relay.not-reachable", { error });
    return undefined;
  });
}

interface WelcomeOptions {
  /** Address of the gateway for this machine, without a path. */
  readonly url: string;
  /** Address for other machines. */
  readonly publicUrl?: string | undefined;
  readonly tokenFile: string;
  /** A one-time login link, if a person reads this. */
  readonly login?: string | undefined;
  readonly noAuth?: boolean | undefined;
  /** What a person types before and after a command so that it uses the same files. */
  readonly command: { readonly program: string; readonly options: readonly string[] };
  readonly color: boolean;
}

const NO_AUTH_WARNING =
  "--no-auth: EVERY USER OF THIS MACHINE, AND EVERY PROGRAM ON IT, CAN USE THIS GATEWAY AS YOU. It " +
  "is for development only. Web pages of other origins, and clients that name commands to run, are " +
  "still refused.";

/**
 * What a person reads when the gateway has started, with a command that connects an assistant: it gives
 * the assistant a token of its own, and shows no token to anyone.
 */
export function serveWelcome(options: WelcomeOptions): string {
  const { url, publicUrl = url, tokenFile, login, noAuth = false, color } = options;
  const { program, options: files } = options.command;
  const typed = (words: string): string => [program, words, ...files.map(shellWord)].join(" ");
  const mcp = `${publicUrl}/mcp`;
  const acp = `${publicUrl.replace("http", "ws")}/acp`;
  const lines = [
    paint("bold", `Trunkline ${VERSION} is running.`, color),
    "",
    `  MCP      ${mcp}   for assistants`,
    `  ACP      ${acp}     for editors`,
    `  Browser  ${login ?? `run \`${typed("open")}\``}`,
    ...(login === undefined
      ? []
      : [`           works once, within 15 minutes; for another run \`${typed("open")}\``]),
    ...(noAuth ? [] : [`  Token    ${tokenFile}`]),
    "",
    "Next: connect an assistant, for example Claude Code:",
    `  ${typed("setup claude-code --http")}`,
    ...(publicUrl === url
      ? []
      : [`Other machines need their own token: ${typed("token create NAME")}`]),
    "Stop with Ctrl-C.",
  ];
  return `${lines.join("\n")}\n`;
}
