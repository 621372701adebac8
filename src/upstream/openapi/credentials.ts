import type { Json } from "./document.ts";
import type { OperationRequest } from "./operation-request.ts";

/** What is configured for each security scheme of a document, by its name. */
export type Credentials = Readonly<Record<string, string>>;

/**
 * Adds the credentials that an operation needs: of the first alternative for which all are configured.
 * An operation that needs none gets none.
 */
export function withCredentials(
  request: OperationRequest,
  security: readonly (readonly string[])[],
  schemes: Readonly<Record<string, Json>>,
  credentials: Credentials,
): OperationRequest {
  const usable = security.find((needed) =>
    needed.every((name) => Object.hasOwn(credentials, name)),
  );
  const url = new URL(request.url);
  const headers: Record<string, string> = { ...request.headers };
  for (const name of usable ?? []) {
    const { type, in: place, name: key, scheme } = schemes[name] ?? {};
    const secret = credentials[name] ?? "";
    if (type === "apiKey" && typeof key === "string") {
      if (place === "query") url.searchParams.set(key, secret);
      else if (place === "header") headers[key.toLowerCase()] = secret;
      else if (place === "cookie") {
        const cookie = `${key}=${encodeURIComponent(secret)}`;
        headers.cookie = headers.cookie === undefined ? cookie : `${headers.cookie}; ${cookie}`;
      }
    } else if (type === "http" && String(scheme).toLowerCase() === "basic") {
      headers.authorization = `Basic ${Buffer.from(secret).toString("base64")}`;
    } else headers.authorization = `Bearer ${secret}`;
  }
  return { ...request, url, headers };
}
