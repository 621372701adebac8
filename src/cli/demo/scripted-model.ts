import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** What it says, or which tool it calls, with what it says before that. */
export type Line =
  | string
  | { readonly says?: string; readonly tool: string; readonly arguments: object };

/**
 * The answers of the model, by words of the prompt. An answer may use the results of the tools that were
 * called since the prompt, and so may all of them be one function of these.
 */
export type Script = Readonly<
  Record<string, readonly (Line | ((results: string[]) => Line))[] | ((results: string[]) => Line)>
>;

interface Message {
  readonly role: string;
  readonly content?: unknown;
}

/** Starts an OpenAI-compatible server (streamed chat completions) that has only scripted answers. */
export async function startScriptedModel(
  script: Script,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    answer(script, request, response).catch((error: Error) => {
      response.writeHead(500).end(JSON.stringify({ error: { message: error.message } }));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  script: Script,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }] }));
    return;
  }
  const { messages } = (await json(request)) as { messages: readonly Message[] };
  const line = nextLine(script, messages);
  const delta =
    typeof line === "string"
      ? { role: "assistant", content: line }
      : {
          role: "assistant",
          content: line.says ?? null,
          tool_calls: [
            {
              index: 0,
              id: `call_${messages.length}`,
              type: "function",
              function: { name: line.tool, arguments: JSON.stringify(line.arguments) },
            },
          ],
        };
  const reason = typeof line === "string" ? "stop" : "tool_calls";
  const chunk = (choice: object, more: object = {}): string =>
    `data: ${JSON.stringify({
      id: "demo",
      object: "chat.completion.chunk",
      created: 0,
      model: "scripted",
      choices: [{ index: 0, finish_reason: null, delta: {}, ...choice }],
      ...more,
    })}\n\n`;
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(chunk({ delta }) + chunk({ finish_reason: reason }, { usage }) + "data: [DONE]\n\n");
}

/** The next answer to the last prompt. */
function nextLine(script: Script, messages: readonly Message[]): Line {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const prompt = textOf(messages[last]);
  const [, lines] = Object.entries(script).find(([words]) => prompt.includes(words)) ?? [];
  const results = messages
    .slice(last + 1)
    .filter(({ role }) => role === "tool")
    .map((message) => textOf(message));
  if (typeof lines === "function") return lines(results);
  const line = lines?.[results.length] ?? "I have nothing to say to that.";
  return typeof line === "function" ? line(results) : line;
}

function textOf(message: Message | undefined): string {
  const { content } = message ?? {};
  return typeof content === "string" ? content : JSON.stringify(content ?? "");
}
