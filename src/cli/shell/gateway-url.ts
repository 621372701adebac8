import type { Gateway } from "../../base/ask-gateway.ts";
import { TrunklineError } from "../../base/errors.ts";
import { ownerTokenFor } from "../../server/http/local-gateway.ts";
import { isLoopbackAuthority } from "../../server/access/refuse-foreign.ts";
import type { Invocation, OptionValues } from "./command.ts";

/** The gateway that a command names by `--url`, if it does. */
export function gatewayOf({ values, err }: Invocation<OptionValues<"url">>): string | undefined {
  if (values.url === undefined) return undefined;
  const { url, warning } = readGatewayUrl(values.url);
  if (warning !== undefined) err(`${warning}\n`);
  return url;
}

/** The address of a gateway's ACP, as a person gave it. */
export interface GatewayUrl {
  readonly url: string;
  /** Why another address would be better, if so. */
  readonly warning?: string;
}

/** Reads such an address; the default path is `/acp`. Throws "usage" with a suggestion. */
export function readGatewayUrl(text: string): GatewayUrl {
  const url = URL.parse(text);
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (url === null || (!isHttp && url.protocol !== "ws:" && url.protocol !== "wss:")) {
    const says = `Cannot use '${text}' as a server: give a URL such as wss://trunkline.example.com/acp.`;
    throw new TrunklineError("usage", says);
  }
  const path = url.pathname === "/" ? "/acp" : url.pathname;
  const meant = (scheme: string): string => `${scheme}//${url.host}${path}${url.search}`;
  if (isHttp) {
    const scheme = url.protocol === "http:" ? "ws:" : "wss:";
    const says = `Cannot use '${text}' as a server: agents are reached by WebSocket. Did you mean '${meant(scheme)}'?`;
    throw new TrunklineError("usage", says);
  }
  const asked = path === url.pathname ? text : meant(url.protocol);
  if (url.protocol === "wss:" || isLoopbackAuthority(url.host)) return { url: asked };
  const warning = `'${asked}' is not encrypted: the token and all that is said can be read on the way. Use wss://.`;
  return { url: asked, warning };
}

/** Where the gateway at an address of ACP answers HTTP, without a path, and the token for it. */
export async function httpGateway(
  { env }: Pick<Invocation, "env">,
  data: string,
  acp: string,
): Promise<Gateway> {
  const own = await ownerTokenFor(data, acp);
  const url = new URL((own?.url ?? acp).replace(/^ws/, "http"));
  const base = `${url.origin}${url.pathname.replace(/\/acp$/, "")}`;
  return { base, token: env.TRUNKLINE_TOKEN ?? own?.token, acp };
}
