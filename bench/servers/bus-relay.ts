// Passes calls on, with nothing that an orchestrator does besides: no policy, no record, no limits.
import { BusCertificates } from "../../src/plugin/bus-certificates.ts";
import { BusClient } from "../../src/protocol/bus/connect.ts";
import { type BusService, serveExchange } from "../../src/protocol/bus/serve.ts";
import { connect, listen } from "../../src/wire/quic/transport.ts";

const [scheme = "", folder = ".", next = ""] = process.argv.slice(2);
const certificates = new BusCertificates(folder, console.error);
const credentials = await certificates.of("bench-client");
const client = new BusClient({ name: "The next", dial: () => connect(next, { credentials }) });
await client.connect();
const service: BusService = {
  handlers: {
    toolCall: async (value) => {
      const { response } = await client.ask({ case: "toolCall", value });
      return response.case === "toolCall" ? response : undefined;
    },
  },
  report: console.error,
};
const { address } = await listen(`${scheme}127.0.0.1:0`, {
  credentials: await certificates.of("bench"),
  stream: (stream, connection) => void serveExchange(stream, connection, service),
});
process.send?.({ addresses: [address] });
process.on("disconnect", () => process.exit());
