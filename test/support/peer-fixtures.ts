import type { Call } from "../../src/rpc/peer.ts";
import { request } from "../../src/rpc/method.ts";
import { route } from "../../src/rpc/route.ts";

export interface Text {
  readonly text: string;
}

/** A method that answers at once, and looks at its parameters. */
export const echo = request<Text, Text>("echo", (value) =>
  typeof (value as Partial<Text>).text === "string"
    ? undefined
    : { path: ["text"], says: "must be a string" },
);

export const echoRoute = route<Text, Text, undefined>(echo, ({ text }) => ({ text }));

/** A method whose calls stay open until the test ends them. */
export function heldRoute() {
  const calls: (PromiseWithResolvers<unknown> & { call: Call<undefined> })[] = [];
  const handle = (_: unknown, call: Call<undefined>): Promise<unknown> => {
    const open = Promise.withResolvers<unknown>();
    calls.push({ ...open, call });
    return open.promise;
  };
  return { calls, route: route(request<unknown>("held"), handle) };
}

/** A request, as a value. */
export function ask(id: unknown, name: string, params?: unknown): object {
  return { jsonrpc: "2.0", id, method: name, params };
}
