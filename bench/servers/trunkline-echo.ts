// The whole path of a message: framing, peer, validation, handler, and back.
import type { Check } from "../../src/base/check.ts";
import { method } from "../../src/rpc/method.ts";
import { Peer } from "../../src/rpc/peer.ts";
import { route, routes } from "../../src/rpc/route.ts";
import { streamChannel } from "../../src/wire/channel/stream.ts";
import { benchDialect } from "./bench-dialect.ts";

interface ToolCall {
  readonly name: string;
  readonly arguments: { readonly text: string };
}

const check: Check = (value) => {
  if (!isObject(value)) return { path: [], says: "must be an object" };
  if (typeof value.name !== "string") return { path: ["name"], says: "must be a string" };
  if (!isObject(value.arguments)) return { path: ["arguments"], says: "must be an object" };
  if (typeof value.arguments.text === "string") return undefined;
  return { path: ["arguments", "text"], says: "must be a string" };
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const call = method<ToolCall, { content: object[] }>("tools/call", { check });
const echo = ({ arguments: { text } }: ToolCall) => ({ content: [{ type: "text", text }] });
const isAsync = process.argv.includes("--async");
const handle = isAsync ? async (params: ToolCall) => echo(params) : echo;
const initialize = method<unknown, object>("initialize");

const peer = new Peer(streamChannel(process.stdin, process.stdout), undefined, {
  dialect: benchDialect,
  routes: routes(
    route(call, handle),
    route(initialize, () => ({})),
  ),
});
await peer.ended;
await peer.close();
