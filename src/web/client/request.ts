import type { Problem } from "../../server/dashboard/api.ts";

/** The server refused, or could not be reached. Its message is for the person. */
export class RequestError extends Error {
  /** 0 where no answer came. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const TIMEOUT_MS = 30_000;
/** An agent is started first, which may load a package before. */
export const START_TIMEOUT_MS = 300_000;

export function get<T>(path: string): Promise<T> {
  return request<T>("GET", `/api${path}`);
}

export function post<T>(path: string, body: object = {}, timeout = TIMEOUT_MS): Promise<T> {
  return request<T>("POST", `/api${path}`, body, timeout);
}

/** A request to a path that is not of the API. */
export async function request<T>(
  method: string,
  path: string,
  body?: object,
  timeout = TIMEOUT_MS,
): Promise<T> {
  const sent = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await send(path, { method, ...(body === undefined ? {} : sent) }, timeout);
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as T;
  throw new RequestError(
    response.status,
    problemIn(text) ?? `The server answered ${response.status}.`,
  );
}

async function send(path: string, init: RequestInit, timeout: number): Promise<Response> {
  try {
    return await fetch(path, { ...init, signal: AbortSignal.timeout(timeout) });
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    throw new RequestError(
      0,
      isLate
        ? `The server has not answered in ${timeout / 1000} seconds.`
        : "The server cannot be reached.",
    );
  }
}

function problemIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as Partial<Problem>).error;
  } catch {
    // Something between us and the server answered with a page.
    return undefined;
  }
}
