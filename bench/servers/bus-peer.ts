// The answering side of the bus: a number of echo plugins, each at its own address.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BusCertificates } from "../../src/plugin/bus-certificates.ts";
import { type BusService, serveExchange } from "../../src/protocol/bus/serve.ts";
import { listen } from "../../src/wire/quic/transport.ts";

const [scheme = "", count = "1", folder = mkdtempSync(join(tmpdir(), "trunkline-bench-"))] =
  process.argv.slice(2);
const certificates = new BusCertificates(folder, console.error);
const service: BusService = {
  handlers: {
    toolCall: ({ arguments: args }) => {
      const result = { text: args?.text ?? "" };
      return { case: "toolCall", value: { success: true, result } };
    },
  },
  report: console.error,
};
const credentials = await certificates.of("bench");
const addresses: string[] = [];
for (let made = 0; made < Number(count); made++) {
  const { address } = await listen(`${scheme}127.0.0.1:0`, {
    credentials,
    stream: (stream, connection) => void serveExchange(stream, connection, service),
  });
  addresses.push(address);
}
process.send?.({ addresses, folder });
process.on("disconnect", () => process.exit());
