import { attempt } from "../../base/attempt.ts";
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
/** Starting an agent may include downloading its package. */
export const START_TIMEOUT_MS = 300_000;

export function get<T>(path: string): Promise<T> {
  return request<T>("GET", `/api${path}`);
}

export function post<T>(path: string, body: object = {}, timeout?: number): Promise<T> {
  return request<T>("POST", `/api${path}`, body, timeout);
}

/** Posts, and tells of each line of JSON in the answer as it comes. Ends with the answer. */
export async function postLines(
  path: string,
  body: object,
  tell: (line: never) => void,
  signal: AbortSignal,
): Promise<void> {
  const headers = { "content-type": "application/json" };
  const sent = { method: "POST", headers, body: JSON.stringify(body), signal };
  const response = await send(`/api${path}`, sent);
  if (!response.ok || response.body === null) throw refusedWith(response, await response.text());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new RequestError(0, "The connection broke before the answer was there.");
    });
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) tell(JSON.parse(line) as never);
  }
}

/** A request to a path that is not of the API. */
export async function request<T>(
  method: string,
  path: string,
  body?: object,
  timeout = TIMEOUT_MS,
): Promise<T> {
  const sent = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const signal = AbortSignal.timeout(timeout);
  const response = await send(path, { method, signal, ...(body === undefined ? {} : sent) });
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as T;
  throw refusedWith(response, text);
}

function refusedWith({ status }: Response, text: string): RequestError {
  const problem = attempt(() => (JSON.parse(text) as Partial<Problem>).error);
  return new RequestError(status, problem ?? `The server answered ${status}.`);
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    throw new RequestError(
      0,
      isLate ? "The server has not answered in time." : "The server cannot be reached.",
    );
  }
}
