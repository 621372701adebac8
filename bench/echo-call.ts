import type { Exchange } from "./harness/stdio-load.ts";

export const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "bench", version: "1.0.0" },
};

/** A call of the tool that every measured program has. */
export const echoCall: Exchange = {
  request: (id) =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call",` +
    `"params":{"name":"echo","arguments":{"text":"hello ${id}"}}}`,
  isRight: (id, result) =>
    JSON.stringify(result) === `{"content":[{"type":"text","text":"hello ${id}"}]}`,
};
