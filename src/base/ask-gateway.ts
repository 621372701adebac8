import { TrunklineError } from "./errors.ts";

/** A gateway on another machine, or in another process. */
export interface Gateway {
  /** Its address for HTTP, without a path. */
  readonly base: string;
  /** Its address for ACP, by which people name it. */
  readonly acp: string;
  readonly token: string | undefined;
}

/** Sends a request to a gateway. `what` completes the error message "Cannot …". */
export async function askGateway(
  { base, token }: Gateway,
  path: string,
  what: string,
  init: Pick<RequestInit, "method" | "body"> = {},
): Promise<Response> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  let response: Response;
  try {
    // A redirect would send the token, and what goes with it, to another server.
    response = await fetch(`${base}/${path}`, { ...init, headers, redirect: "error" });
  } catch (error) {
    const { message, cause } = error as Error;
    const why = cause instanceof Error ? cause.message : message;
    const says = `Cannot ${what} ${base}: ${why}. Is \`trunkline serve\` running there?`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
  if (response.ok) return response;
  const answer = (await response.json().catch(() => ({}))) as { readonly error?: string };
  const { error = `it answered with status ${response.status}` } = answer;
  const next =
    response.status === 401 ? " Give a token of that server; commands read TRUNKLINE_TOKEN." : "";
  const code = response.status === 409 ? "conflict" : "unavailable";
  throw new TrunklineError(code, `Cannot ${what} ${base}: ${error}${next}`);
}
