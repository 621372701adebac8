import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A model behind the API of OpenAI that answers each prompt with so many pieces of text, at once. */
export class DeltaModel implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(count: number): Promise<DeltaModel> {
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        if (request.url?.endsWith("/models")) response.end('{"data":[{"id":"m"}]}');
        else answer(response, count).catch(() => response.destroy());
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new DeltaModel(server);
  }

  /** The `models` section of a configuration that uses it. */
  get settings(): object {
    const { port } = this.#server.address() as AddressInfo;
    const fake = {
      type: "openai-compatible",
      baseUrl: `http://127.0.0.1:${port}/v1`,
      models: ["m"],
    };
    return { default: "fake/m", local: false, providers: { fake } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function answer(response: ServerResponse, count: number): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (choices: readonly object[]): boolean => {
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices };
    return response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  for (let at = 0; at < count; at++) {
    const delta = { role: "assistant", content: `${at} ` };
    const hasRoom = send([{ index: 0, delta, finish_reason: null }]);
    if (!hasRoom) await new Promise((resolve) => response.once("drain", resolve));
    if (at % 16 === 15) await new Promise(setImmediate);
  }
  send([{ index: 0, delta: {}, finish_reason: "stop" }]);
  response.end("data: [DONE]\n\n");
}
