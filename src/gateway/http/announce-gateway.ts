import { announceGateway as announce } from "../../store/access/running-gateways.ts";

/** Lets commands of the same data folder find a gateway that runs, until it is disposed of. */
export function announceGateway(
  data: string,
  {
    localUrl: url,
    browserUrl: browser,
  }: { readonly localUrl: string; readonly browserUrl: string },
): Promise<Disposable> {
  return announce(data, { url, browser });
}
