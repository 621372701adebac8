import { networkInterfaces } from "node:os";

import { TrunklineError } from "../../base/errors.ts";
import { isLoopbackAddress, isLoopbackAuthority } from "../access/refuse-foreign.ts";
import { LoginCodes } from "../../store/access/login-codes.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { type RunningGateway, runningGateways } from "../../store/access/running-gateways.ts";

/** A login link, which works once, for the gateway that runs with a data folder. */
export async function loginLinkFor(data: string): Promise<string> {
  return `${(await needGateway(data)).browser}/login#${await new LoginCodes(data).create()}`;
}

/** A link that pairs a phone, once. Throws if other devices cannot reach the gateway. */
export async function pairingLinkFor(data: string): Promise<string> {
  const address = addressForOthers(await needGateway(data), networkInterfaces());
  return `${address}/login#${await new LoginCodes(data).create(true)}`;
}

/** The address of a gateway for other devices: the public one, or one of this machine's network. */
export function addressForOthers(
  { browser, listens = browser }: RunningGateway,
  interfaces: ReturnType<typeof networkInterfaces>,
): string {
  if (!isLoopbackAuthority(new URL(browser).host)) return browser;
  const url = new URL(listens);
  if (url.hostname !== "0.0.0.0" && url.hostname !== "[::]") {
    if (!isLoopbackAuthority(url.host)) return listens;
    const next =
      "Set `serve.publicUrl` to an address that leads to it, or start it with " +
      "`trunkline serve --host 0.0.0.0` to reach it in your network";
    const why = `other devices cannot reach it, since it listens on ${listens} only`;
    throw new TrunklineError("usage", `Cannot pair a phone with the gateway: ${why}. ${next}.`);
  }
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const own = all.find(({ internal, family }) => !internal && family === "IPv4");
  if (own === undefined) {
    const why = "this machine has no address in a network";
    throw new TrunklineError("usage", `Cannot pair a phone with the gateway: ${why}.`);
  }
  url.hostname = own.address;
  return url.origin;
}

async function needGateway(data: string): Promise<RunningGateway> {
  const [gateway] = await runningGateways(data);
  if (gateway !== undefined) return gateway;
  const next = "Start it with `trunkline serve`, or name its data folder with --data.";
  const says = `Cannot find a gateway: none is running with the data folder '${data}'. ${next}`;
  throw new TrunklineError("unavailable", says);
}

/**
 * The owner's token for an address, and the address to send it to, if a gateway of this data folder
 * listens there now. It is not sent anywhere else: another address of the same name, such as
 * `localhost`, may belong to another user.
 */
export async function ownerTokenFor(
  data: string,
  address: string,
): Promise<{ readonly url: string; readonly token: string } | undefined> {
  const url = URL.parse(address);
  if (url === null) return undefined;
  const own = (await runningGateways(data)).map((each) => hostAt(each, url));
  const host = own.find((each) => each !== undefined);
  const token = new OwnerToken(data).read();
  if (host === undefined || token === undefined) return undefined;
  url.host = host;
  return { url: url.href, token };
}

/** The host and port on which a gateway actually listens, if a URL names that gateway. */
function hostAt({ url, browser }: RunningGateway, wanted: URL): string | undefined {
  const [at, named] = [new URL(url), new URL(browser)];
  if (wanted.host === at.host) return at.host;
  if (wanted.host === named.host && named.protocol === "https:") return named.host;
  const isHere = isLoopbackAddress(wanted.hostname) && isLoopbackAddress(at.hostname);
  return isHere && wanted.port === at.port ? at.host : undefined;
}
