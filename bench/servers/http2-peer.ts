// The answering side of the baseline: the same tool over HTTP/2 with certificates on both sides.
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { BusCertificates } from "../../src/plugin/bus-certificates.ts";

const [folder = "."] = process.argv.slice(2);
const { ca, cert, key } = await new BusCertificates(folder, console.error).of("bench");
const server = createSecureServer({
  ...{ ca, cert, key, requestCert: true, rejectUnauthorized: true },
});
server.on("stream", (stream: ServerHttp2Stream) => {
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  stream.on("end", () => {
    const { params } = JSON.parse(text) as { params: { arguments: { text: string } } };
    stream.respond({ ":status": 200 });
    stream.end(JSON.stringify({ success: true, result: { text: params.arguments.text } }));
  });
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ addresses: [`https://127.0.0.1:${port}`] });
});
process.on("disconnect", () => process.exit());
