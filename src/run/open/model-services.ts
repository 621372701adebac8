import { type EgressService, SERVICE_PATH } from "../../sandbox/egress-proxy.ts";

/** Model providers that programs in a sandbox can use without having the keys. */
export interface ModelServices {
  readonly services: Readonly<Record<string, EgressService>>;
  /** Variables that tell programs the address; `PROXY` stands for the address of the proxy. */
  readonly variables: Readonly<Record<string, string>>;
}

interface KnownProvider {
  readonly name: string;
  readonly key: string;
  readonly address: string;
  readonly usual: string;
  /** The calls that agents need. A key allows more, such as reading files of others. */
  readonly allows: readonly string[];
  readonly header: (key: string) => Readonly<Record<string, string>>;
}

const KNOWN: readonly KnownProvider[] = [
  {
    name: "anthropic",
    key: "ANTHROPIC_API_KEY",
    address: "ANTHROPIC_BASE_URL",
    usual: "https://api.anthropic.com/v1",
    allows: ["POST /messages", "POST /messages/count_tokens", "GET /models", "GET /models/*"],
    header: (key) => ({ "x-api-key": key }),
  },
  {
    name: "openai",
    key: "OPENAI_API_KEY",
    address: "OPENAI_BASE_URL",
    usual: "https://api.openai.com/v1",
    allows: [
      ...["POST /chat/completions", "POST /responses", "POST /responses/compact"],
      ...["POST /completions", "POST /embeddings", "GET /models", "GET /models/*"],
    ],
    header: (key) => ({ authorization: `Bearer ${key}` }),
  },
];

/**
 * The value of key variables in the sandbox: programs need one, and the proxy adds the real key.
 */
const NO_KEY = "added-by-the-proxy";

/** The providers whose keys are set in an environment. */
export function modelServices(env: NodeJS.ProcessEnv): ModelServices {
  const services: Record<string, EgressService> = {};
  const variables: Record<string, string> = {};
  for (const { name, key, address, usual, allows, header } of KNOWN) {
    const secret = env[key];
    if (secret === undefined || secret === "") continue;
    const origin = env[address] ?? usual;
    services[name] = { origin, allows, headers: async () => header(secret) };
    variables[key] = NO_KEY;
    variables[address] = `PROXY${SERVICE_PATH}${name}`;
  }
  return { services, variables };
}
