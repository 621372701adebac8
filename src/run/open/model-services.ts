import { authorization, type Models } from "../../agent/models/models.ts";
import type { Provider, ProviderType } from "../../agent/models/provider.ts";
import type { ModelSettings } from "../../config/schema/schema.gen.ts";
import { type EgressService, SERVICE_PATH } from "../../sandbox/egress-proxy.ts";

/** Model providers that programs can use without having the keys. */
export interface ModelServices {
  readonly services: Readonly<Record<string, EgressService>>;
  /** Variables that tell programs the addresses of the usual providers. */
  readonly variables: Readonly<Record<string, string>>;
  /** The `models` section of a built-in agent that reaches all of them. */
  readonly settings: ModelSettings;
}

const OPENAI = [
  ...["POST /chat/completions", "POST /responses", "POST /responses/compact"],
  ...["POST /completions", "POST /embeddings", "GET /models", "GET /models/*"],
];

/** The calls that agents need. A key allows more, such as reading files of others. */
const ALLOWS: Readonly<Record<ProviderType, readonly string[]>> = {
  anthropic: ["POST /messages", "POST /messages/count_tokens", "GET /models", "GET /models/*"],
  openai: OPENAI,
  "openai-compatible": OPENAI,
  google: [
    ...["generateContent", "streamGenerateContent", "countTokens", "embedContent"].map(
      (call) => `POST /models/*:${call}`,
    ),
    ...["GET /models", "GET /models/*"],
  ],
};

/** The variables by which programs are usually told the key and the address of a provider. */
const USUAL: Readonly<Record<string, { keys: readonly string[]; address: string }>> = {
  anthropic: { keys: ["ANTHROPIC_API_KEY"], address: "ANTHROPIC_BASE_URL" },
  openai: { keys: ["OPENAI_API_KEY"], address: "OPENAI_BASE_URL" },
  google: {
    keys: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    address: "GOOGLE_GEMINI_BASE_URL",
  },
};

/** The value of key variables where only one run reaches the proxy, which adds the real key. */
const NO_KEY = "added-by-the-proxy";
/** The variable that holds it for the built-in agent. */
const PASS = "TRUNKLINE_MODEL_PASS";

interface ModelServicesOptions {
  readonly models: Pick<Models, "configured">;
  readonly settings: ModelSettings;
  /** The address of the proxy, as programs reach it. */
  readonly proxy: string;
  /** What programs have to send, where others can reach the proxy, too. */
  readonly pass?: string | undefined;
}

/** The providers of the configuration, of the environment and of the keychain, behind a proxy. */
export async function modelServices(options: ModelServicesOptions): Promise<ModelServices> {
  const { models, settings, proxy, pass } = options;
  const services: Record<string, EgressService> = {};
  const variables: Record<string, string> = { [PASS]: pass ?? NO_KEY };
  const providers: Record<string, Partial<Provider> & { keyVariable: string }> = {};
  for (const provider of await models.configured()) {
    const { id, type, baseUrl, headers, models: named, contextWindow } = provider;
    const name = encodeURIComponent(id);
    services[name] = {
      origin: baseUrl,
      allows: ALLOWS[type],
      pass,
      headers: async () => ({ ...authorization(provider), ...headers }),
    };
    const address = `${proxy}${SERVICE_PATH}${name}`;
    providers[id] = {
      ...{ type, baseUrl: address, keyVariable: PASS },
      ...(named === undefined ? {} : { models: named }),
      ...(contextWindow === undefined ? {} : { contextWindow }),
    };
    const usual = Object.hasOwn(USUAL, id) ? USUAL[id] : undefined;
    if (usual === undefined) continue;
    for (const variable of usual.keys) variables[variable] = pass ?? NO_KEY;
    variables[usual.address] = address;
  }
  return { services, variables, settings: { ...settings, local: false, providers } };
}
