// The whole road of a message: framing, peer, validation, handler, and back.
import type { Check } from "../../src/rpc/check.ts";
import type { Dialect } from "../../src/rpc/dialect.ts";
import { method } from "../../src/rpc/method.ts";
import { Peer } from "../../src/rpc/peer.ts";
import { route, routes } from "../../src/rpc/route.ts";
import { streamChannel } from "../../src/wire/channel/stream.ts";

const dialect: Dialect = {
  name: "bench",
  batches: false,
  nullIdIsNotification: false,
  cancel: { method: "notifications/cancelled" },
  methodNotFound: () => "Method not found",
};

const check: Check = (value) => {
  if (typeof value !== "object" || value === null) return { path: [], says: "must be an object" };
  const { text } = value as Record<string, unknown>;
  return typeof text === "string" ? undefined : { path: ["text"], says: "must be a string" };
};

const isAsync = process.argv.includes("--async");
const echo = method<{ text: string }, { text: string }>("echo", { check });
const handle = isAsync
  ? async ({ text }: { text: string }) => ({ text })
  : ({ text }: { text: string }) => ({ text });

const channel = streamChannel(process.stdin, process.stdout);
const peer = new Peer(channel, undefined, { dialect, routes: routes(route(echo, handle)) });
await peer.ended;
await peer.close();
