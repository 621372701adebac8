const SESSION = "0f8e6a3c-5d1b-4c57-9a70-2b9a3ad0c6e1";

/** A notification of ACP: a piece of an agent's answer. About 300 bytes. */
export function sessionUpdate(number: number): string {
  const text =
    `The parser reads the header first (${number}), so a message that is cut off in its body can ` +
    "still be answered; I will add a test for that.";
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  const params = { sessionId: SESSION, update };
  return JSON.stringify({ jsonrpc: "2.0", method: "session/update", params });
}

/** A request of MCP. About 300 bytes. */
export function toolCall(id: number): string {
  const params = {
    name: "review_list",
    arguments: {
      repo: "trunkline",
      status: "open",
      path: "src/wire/framing/ndjson.ts",
      note: `what is still open in ${id}? "Quoted", and with a line\nbreak`,
    },
    _meta: { progressToken: `progress-${id}`, sessionId: SESSION },
  };
  return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
}

/** Its answer. About 300 bytes. */
export function toolResult(id: number): string {
  const text =
    `src/wire/framing/ndjson.ts:${id}: "why is this copied?"\n` +
    "  The chunk is the stream's own and is written over, so what is kept of it must be copied; " +
    "resolved in the last commit, see there.";
  const result = { content: [{ type: "text", text }], isError: false };
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}
