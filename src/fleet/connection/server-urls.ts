import { TrunklineError } from "../../base/errors.ts";
import { holdSecret } from "../../base/text/mask.ts";

/** The servers of NATS, of which any will do. */
export interface ServerUrls {
  /** As `host:port`. */
  readonly servers: readonly string[];
  readonly isTls: boolean;
  readonly user?: string;
  readonly password?: string;
}

const SCHEMES: readonly string[] = ["nats:", "tls:"];

/**
 * Reads `nats://host:4222`, or several of them with commas between. `isTyped` says that it came from the
 * command line, which every user of the machine can read, so it must have no password.
 */
export function readServerUrls(text: string, isTyped = false): ServerUrls {
  const urls = text.split(",").map((each) => parse(each.trim()));
  const secret = urls.find(({ username, password }) => username !== "" || password !== "");
  if (secret !== undefined && isTyped) {
    throw new TrunklineError(
      "usage",
      `Cannot use credentials in the address of NATS on the command line, since every user of this ` +
        `machine can read it. Put them into a file, and name it in \`fleet.credentials\` of the configuration.`,
    );
  }
  const password = decodeURIComponent(secret?.password ?? "");
  holdSecret(password);
  return {
    servers: urls.map(({ host, port }) => (port === "" ? `${host}:4222` : host)),
    isTls: urls.some(({ protocol }) => protocol === "tls:"),
    ...(secret !== undefined && {
      user: decodeURIComponent(secret.username),
      password,
    }),
  };
}

function parse(text: string): URL {
  const withScheme = text.includes("://") ? text : `nats://${text}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (url === undefined || url.hostname === "" || !SCHEMES.includes(url.protocol)) {
    const shown = text.replace(/\/\/.*@/, "//…@");
    throw new TrunklineError(
      "usage",
      `Cannot read the address of NATS '${shown}': expected nats://HOST:PORT or tls://HOST:PORT.`,
    );
  }
  return url;
}
