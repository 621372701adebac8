import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** What it says, or which tool it calls, with what it says before that. */
export type Line =
  | string
  | { readonly says?: string; readonly tool: string; readonly arguments: object };

/** Gives the next line, by the results of the tools that were called since the prompt. */
type Script = (results: string[]) => Line;

interface Message {
  readonly role: string;
  readonly content?: unknown;
}

/** Starts an OpenAI-compatible server (streamed chat completions) that has answers to one prompt only. */
export async function startScriptedModel(
  prompt: string,
  script: Script,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    answer(request, response, prompt, script).catch((error: Error) => {
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
  request: IncomingMessage,
  response: ServerResponse,
  prompt: string,
  script: Script,
): Promise<void> {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }] }));
    return;
  }
  const { messages } = (await json(request)) as { messages: readonly Message[] };
  const line = nextLine(messages, prompt, script);
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
function nextLine(messages: readonly Message[], prompt: string, script: Script): Line {
  const last = messages.findLastIndex(({ role }) => role === "user");
  if (!textOf(messages[last]).includes(prompt)) return "I have nothing to say to that.";
  const results = messages.slice(last + 1).filter(({ role }) => role === "tool");
  return script(results.map((message) => textOf(message)));
}

function textOf(message: Message | undefined): string {
  const { content } = message ?? {};
  return typeof content === "string" ? content : JSON.stringify(content ?? "");
}
