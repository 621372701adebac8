// An agent's output: chunks of many sessions in turn, as fast as they are read.
const [each = "0", ...sessions] = process.argv.slice(2);
const text = "word ".repeat(12);
const lineOf = (sessionId, at) =>
  JSON.stringify({
    jsonrpc: "2.0",
    method: "session/update",
    params: {
      sessionId,
      update: {
        sessionUpdate: "agent_message_chunk",
        content: { type: "text", text: text + at },
      },
    },
  });

for (let at = 0; at < Number(each); at++) {
  const lines = sessions.map((session) => `${lineOf(session, at)}\n`).join("");
  if (!process.stdout.write(lines)) {
    await new Promise((resolve) => process.stdout.once("drain", resolve));
  }
}
