import type { Gateway } from "../../base/ask-gateway.ts";
import { ownerTokenFor } from "../../server/http/local-gateway.ts";
import { gatewayAt, readGatewayUrl } from "../../server/http/gateway-url.ts";
import type { Invocation, OptionValues } from "./command.ts";

/** The gateway that a command names by `--url`, if it does. */
export function gatewayOf({ values, err }: Invocation<OptionValues<"url">>): string | undefined {
  if (values.url === undefined) return undefined;
  const { url, warning } = readGatewayUrl(values.url);
  if (warning !== undefined) err(`${warning}\n`);
  return url;
}

/** Where the gateway at an address of ACP answers HTTP, without a path, and the token for it. */
export async function httpGateway(
  { env }: Pick<Invocation, "env">,
  data: string,
  acp: string,
): Promise<Gateway> {
  const own = await ownerTokenFor(data, acp);
  const { base } = gatewayAt(own?.url ?? acp, undefined);
  return { base, token: env.TRUNKLINE_TOKEN ?? own?.token, acp };
}
