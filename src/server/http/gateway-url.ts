import type { Gateway } from "../../base/ask-gateway.ts";
import { TrunklineError } from "../../base/errors.ts";
import { isLoopbackAuthority } from "../access/refuse-foreign.ts";

/**
 * Reads the address of a gateway's ACP, as a person gave it; the default path is `/acp`. Returns why another would
 * be better, too, if so. Throws "usage" with a suggestion.
 */
export function readGatewayUrl(text: string): { url: string; warning?: string } {
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

/** The gateway at an address of ACP, which answers HTTP beside it. */
export function gatewayAt(acp: string, token: string | undefined): Gateway {
  const url = new URL(acp.replace(/^ws/, "http"));
  return { base: `${url.origin}${url.pathname.replace(/\/acp$/, "")}`, token, acp };
}
