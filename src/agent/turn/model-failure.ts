import { TrunklineError } from "../../base/errors.ts";
import { maskText } from "../../base/text/mask.ts";

/** Why a model did not answer, and whether to retry. */
export interface ModelFailure {
  /** Predicate of a sentence that starts with the model's name. */
  readonly says: string;
  readonly kind: "passing" | "rate" | "overflow" | "key" | "final";
  /** Milliseconds after which the provider allows a retry. */
  readonly retryAfter?: number;
}

interface ProviderError {
  readonly name?: string;
  readonly statusCode?: number;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: string;
  readonly message?: string;
  readonly lastError?: unknown;
  readonly cause?: unknown;
  readonly code?: string;
}

const OVERFLOW =
  /context.{0,20}(?:length|window|size)|prompt is too long|too many tokens|maximum.{0,20}tokens|exceeds?.{0,30}(?:tokens|context)|input is too long/i;
/** Errors of models without image support; some servers answer them with status 500. */
const BLIND = /\b(?:images?|vision|multi-?modal|mmproj)\b/i;
const QUOTA = /insufficient_quota|credit balance|billing|quota.{0,20}exceeded for/i;

/** Classifies an error of a provider, of its library or of the network. */
export function modelFailure(thrown: unknown): ModelFailure {
  const error = unwrap(thrown);
  const { statusCode } = error;
  const said = saidBy(error);
  if (statusCode === undefined) return withoutStatus(thrown, error, said);
  const says = `answered with status ${statusCode}${said === "" ? "" : `: ${said}`}`;
  const retryAfter = retryAfterOf(error.responseHeaders ?? {});
  const wait = retryAfter === undefined ? {} : { retryAfter };
  if (statusCode === 401 || statusCode === 403) return { kind: "key", says };
  if (statusCode === 413 || (statusCode < 500 && OVERFLOW.test(said))) {
    return { kind: "overflow", says };
  }
  if (statusCode === 402 || QUOTA.test(said) || BLIND.test(said)) return { kind: "final", says };
  if (statusCode === 429) return { kind: "rate", says, ...wait };
  const isPassing = statusCode >= 500 || statusCode === 408 || statusCode === 409;
  // An interrupted stream still has the status 200.
  return { kind: isPassing || statusCode < 300 ? "passing" : "final", says, ...wait };
}

function withoutStatus(thrown: unknown, error: ProviderError, said: string): ModelFailure {
  if (thrown instanceof TrunklineError) return { kind: "passing", says: said };
  if (OVERFLOW.test(said)) return { kind: "overflow", says: `said: ${said}` };
  // The provider's library refuses unsupported content itself.
  if (BLIND.test(said) || /unsupported/i.test(error.name ?? "")) {
    return { kind: "final", says: `does not support that: ${said}` };
  }
  const code = codeOf(error);
  if (code === "ECONNREFUSED" || code === "ENOTFOUND") {
    return {
      kind: "passing",
      says: `cannot be reached (${code}); is it running, is there a network?`,
    };
  }
  return { kind: "passing", says: `broke off: ${said === "" ? "no reason was given" : said}` };
}

function unwrap(thrown: unknown): ProviderError {
  const error = (
    typeof thrown === "object" && thrown !== null ? thrown : { message: String(thrown) }
  ) as ProviderError;
  return error.lastError === undefined ? error : unwrap(error.lastError);
}

const LONGEST = 500;

function saidBy({ message, responseBody, cause }: ProviderError): string {
  const inner = cause instanceof Error && cause.message !== message ? ` (${cause.message})` : "";
  const own = `${message ?? ""}${inner}`.trim();
  const text = own === "" ? (responseBody ?? "") : own;
  return maskText(text.replaceAll(/\s+/g, " ")).slice(0, LONGEST);
}

function codeOf(error: ProviderError): string | undefined {
  if (error.code !== undefined) return error.code;
  return error.cause === undefined ? undefined : codeOf(unwrap(error.cause));
}

function retryAfterOf(headers: Readonly<Record<string, string>>): number | undefined {
  const milliseconds = Number(headers["retry-after-ms"]);
  if (milliseconds > 0) return milliseconds;
  const after = headers["retry-after"];
  if (after === undefined) return undefined;
  const seconds = Number(after);
  const wait = Number.isNaN(seconds) ? Date.parse(after) - Date.now() : seconds * 1000;
  return wait > 0 ? wait : undefined;
}
