// The same tool over gRPC with certificates on both sides: the calling side, and a program that answers.
import { BusCertificates } from "../../src/plugin/bus-certificates.ts";

// Names that the linter does not follow: the types of these packages would change what it says of others.
const [GRPC, LOADER] = ["@grpc/grpc-js", "@grpc/proto-loader"];
const { credentials, loadPackageDefinition, Server, ServerCredentials } = await import(GRPC);
const { fromJSON } = await import(LOADER);

const text = { type: "string", id: 2 };
const { Tools } = loadPackageDefinition(
  fromJSON({
    nested: {
      ToolRequest: { fields: { name: { type: "string", id: 1 }, text } },
      ToolResponse: { fields: { success: { type: "bool", id: 1 }, text } },
      Tools: {
        methods: { Call: { requestType: "ToolRequest", responseType: "ToolResponse" } },
      },
    },
  }),
);

/** The certificate and key as gRPC takes them, which is as bytes. */
async function certificatesOf(name, folder) {
  const { ca, cert, key } = await new BusCertificates(folder, console.error).of(name);
  return [ca, cert, key].map((pem) => Buffer.from(String(pem)));
}

/** A function that calls the tool at an address. */
export async function grpcCaller(address, folder) {
  const [ca, cert, key] = await certificatesOf("bench-client", folder);
  // It would ask for the address as a name, which Node refuses.
  const named = { "grpc.ssl_target_name_override": "localhost" };
  const client = new Tools(address, credentials.createSsl(ca, key, cert), named);
  return (said) => {
    const { promise, resolve, reject } = Promise.withResolvers();
    client.Call({ name: "echo", text: said }, (error, answer) => {
      if (error === null) resolve(answer.text);
      else reject(error);
    });
    return promise;
  };
}

async function serve(folder) {
  const [ca, cert, key] = await certificatesOf("bench", folder);
  const server = new Server();
  server.addService(Tools.service, {
    Call: ({ request }, answer) => answer(null, { success: true, text: request.text }),
  });
  const pair = { private_key: key, cert_chain: cert };
  const both = ServerCredentials.createSsl(ca, [pair], true);
  server.bindAsync("127.0.0.1:0", both, (error, port) => {
    if (error !== null) throw error;
    process.send({ addresses: [`127.0.0.1:${port}`] });
  });
}

if (import.meta.main) {
  await serve(process.argv[2] ?? ".");
  process.on("disconnect", () => process.exit());
}
