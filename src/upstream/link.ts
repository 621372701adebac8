import { parseEnv } from "node:util";

import { defined } from "../base/defined.ts";
import { TrunklineError } from "../base/errors.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { whyUnreadable } from "../base/file/why-unreadable.ts";
import { OwnedChild } from "../base/process/child-process.ts";
import { usualVariables } from "../base/process/environment.ts";
import { holdSecrets } from "../base/text/mask.ts";
import type { Channel, ChannelLimits } from "../wire/channel.ts";
import { childChannel } from "../wire/channel/child.ts";
import type { HttpAuthorization } from "./http/http-exchange.ts";
import type { HttpChannelOptions } from "./http/posting-channel.ts";
import type { AddressSettings, CommandSettings, UpstreamSettings } from "./settings.ts";

/** A connection to one upstream, with the process that was started for it, if any. */
export interface Link {
  readonly channel: Channel<string>;
  /** The progress token of the call whose stream a request came on, where the transport knows. */
  readonly originOf?: (idText: string) => unknown;
  /** Which tools of a server of 2026-07-28 can be called this way; all when left out. */
  readonly canCall?: (tool: Readonly<Record<string, unknown>>) => boolean;
  /** An extension that this server alone is told that we take part in. */
  readonly extension?: string | undefined;
  /** The process that was started for it. */
  readonly pid?: number;
  /** Why it is over, in words that complete "it …"; only once it is. */
  readonly ended?: Promise<string>;
  /** Ends the process at the other end, if we started it. */
  end(): Promise<void>;
  /** The same without a grace period. */
  kill?(): void;
}

export interface LinkEvents {
  /** Called with each line of its stderr. */
  said(line: string): void;
}

export type OpenLink = (
  settings: UpstreamSettings,
  events: LinkEvents,
  limits: Partial<ChannelLimits>,
  /** The name of the server in the configuration. */
  name: string,
) => Promise<Link>;

interface LinkOptions {
  readonly authorization?: HttpAuthorization | undefined;
  /** The session that alone uses it. */
  readonly serves?: string | undefined;
}

/** Starts or connects to an upstream as its settings say. */
export async function openLink(
  settings: UpstreamSettings,
  events: LinkEvents,
  limits: Partial<ChannelLimits>,
  { authorization, serves }: LinkOptions = {},
): Promise<Link> {
  if ("command" in settings) return startProgram(settings, events, limits, serves);
  if (!("openapi" in settings)) return openAddress(settings, { limits, authorization });
  const { openApiServer } = await import("./openapi/openapi-server.ts");
  return await openApiServer(settings, limits);
}

async function startProgram(
  settings: CommandSettings,
  events: LinkEvents,
  limits: Partial<ChannelLimits>,
  serves: string | undefined,
): Promise<Link> {
  const { command, args, env, cwd, envFile } = settings;
  const more = envFile === undefined ? {} : variablesOf(envFile);
  const child = await OwnedChild.start({
    command,
    serves,
    env: { ...usualVariables(), ...more, ...env },
    ...defined({ args, cwd }),
    stderr: (line) => events.said(line),
  });
  return {
    pid: child.pid,
    channel: childChannel(child, { limits, stray: (line) => events.said(line) }),
    ended: child.exit.then((exit) =>
      typeof exit === "number" ? `exited with code ${exit}` : `was ended by ${exit}`,
    ),
    end: () => child.end(),
    kill: () => child.kill(),
  };
}

/** The variables of a file, which may be secrets. */
function variablesOf(path: string): NodeJS.Dict<string> {
  let bytes: Buffer | undefined;
  try {
    bytes = readRegularFile(path, { most: LARGEST_ENV_FILE });
  } catch (error) {
    const why = whyUnreadable(error);
    throw new TrunklineError("config", `Its 'envFile' cannot be read: '${path}': ${why}`);
  }
  if (bytes === undefined) {
    throw new TrunklineError("config", `Its 'envFile' is missing: there is no file '${path}'`);
  }
  const variables = parseEnv(bytes.toString("utf8"));
  holdSecrets({ env: variables });
  return variables;
}

const LARGEST_ENV_FILE = 1024 * 1024;

async function openAddress(
  { type, url, headers = {} }: AddressSettings,
  options: Pick<HttpChannelOptions, "limits" | "authorization">,
): Promise<Link> {
  const end = async (): Promise<void> => {};
  const { extension } = options.authorization ?? {};
  if (type === "sse") {
    const { SseChannel } = await import("./http/sse-channel.ts");
    const channel = new SseChannel(new URL(url), { headers, ...options });
    return { channel, ended: channel.ended, end, extension };
  }
  const { HttpChannel } = await import("./http/http-channel.ts");
  const channel = new HttpChannel(new URL(url), { headers, ...options });
  return {
    channel,
    originOf: (id) => channel.originOf(id),
    canCall: (tool) => channel.canCall(tool),
    ended: channel.ended,
    end,
    extension,
  };
}
