import type { LanguageModel } from "ai";

import { defined } from "../../base/defined.ts";
import type { ModelProvider, ModelSettings } from "../../config/schema/schema.gen.ts";
import { holdSecret, holdSecrets } from "../../base/text/mask.ts";

/** The API of a provider. */
export type ProviderType = NonNullable<ModelProvider["type"]>;

/** A server with language models. */
export interface Provider {
  /** Prefix of the ids of its models. */
  readonly id: string;
  readonly name: string;
  readonly type: ProviderType;
  readonly baseUrl: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Models that are offered even if the provider does not list them. */
  readonly models?: readonly string[];
  /** Context window in tokens, where the provider does not say it. */
  readonly contextWindow?: number;
  /**
   * Found on a local port, on which any program may listen. Its models are offered, but used only when
   * chosen.
   */
  readonly isLocal?: boolean;
}

/** Finds a key by the name of its environment variable. */
export type KeyLookup = (variable: string) => string | undefined;

const ADDRESS: Readonly<Record<ProviderType, string>> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
  "openai-compatible": "http://127.0.0.1:8080/v1",
};

const VARIABLE: Readonly<Partial<Record<ProviderType, string>>> = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  google: "GOOGLE_GENERATIVE_AI_API_KEY",
};

/** Names of the environment variables that may contain keys. */
export function keyVariables({ providers = {} }: ModelSettings = {}): string[] {
  const named = Object.values(providers).flatMap(({ keyVariable }) => keyVariable ?? []);
  return [...new Set([...Object.values(VARIABLE), ...named])];
}

/** A local port on which model servers usually listen: id, name, port. */
export type LocalPort = readonly [string, string, number];

const LOCAL: readonly LocalPort[] = [
  ["ollama", "Ollama", 11434],
  ["lmstudio", "LM Studio", 1234],
  ["llamacpp", "llama.cpp", 8080],
];

/** All providers: by keys in the environment, by configuration, and on local ports. */
export function providersOf(
  find: KeyLookup,
  settings: ModelSettings = {},
  ports: readonly LocalPort[] = LOCAL,
): Provider[] {
  const { providers: configured = {}, local = true } = settings;
  const found = new Map<string, Provider>();
  for (const provider of byKeys(find)) found.set(provider.id, provider);
  for (const [id, entry] of Object.entries(configured))
    found.set(id, configuredOne(id, entry, find));
  if (local) {
    for (const [id, name, port] of ports) {
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      const isKnown = [...found.values()].some((each) => sameAddress(each.baseUrl, baseUrl));
      if (found.has(id) || isKnown) continue;
      found.set(id, { id, name, type: "openai-compatible", baseUrl, isLocal: true });
    }
  }
  for (const { key, headers = {} } of found.values()) {
    holdSecret(key);
    holdSecrets(headers);
  }
  return [...found.values()];
}

function byKeys(find: KeyLookup): Provider[] {
  const address = find("OPENAI_BASE_URL");
  // At another address there is usually a server that is only compatible.
  const isOther = address !== undefined && !address.startsWith("https://api.openai.com/");
  const openai = provider("openai", "OpenAI", address);
  const name = `OpenAI-compatible (${URL.parse(address ?? "")?.host ?? "?"})`;
  const known: readonly Provider[] = [
    provider("anthropic", "Anthropic", withVersion(find("ANTHROPIC_BASE_URL"))),
    isOther ? { ...openai, name, type: "openai-compatible" } : openai,
    provider("google", "Google"),
  ];
  return known.flatMap((each) => {
    const key = find(VARIABLE[each.id as ProviderType] ?? "");
    if (key === undefined) return each.id === "openai" && isOther ? [each] : [];
    return [{ ...each, key }];
  });
}

/** Programs of Anthropic add `/v1` themselves, and most others expect it in the address. */
function withVersion(address: string | undefined): string | undefined {
  if (address === undefined || address === "") return undefined;
  const plain = address.replace(/\/+$/, "");
  return /\/v\d+$/.test(plain) ? plain : `${plain}/v1`;
}

function provider(type: ProviderType, name: string, baseUrl = ADDRESS[type]): Provider {
  return { id: type, name, type, baseUrl };
}

function configuredOne(id: string, settings: ModelProvider, find: KeyLookup): Provider {
  const { type = "openai-compatible", keyVariable = VARIABLE[type] } = settings;
  const { headers, models, contextWindow } = settings;
  const key = keyVariable === undefined ? undefined : find(keyVariable);
  return {
    id,
    name: id,
    type,
    baseUrl: settings.baseUrl ?? ADDRESS[type],
    ...defined({ key, headers, models, contextWindow }),
  };
}

function sameAddress(a: string, b: string): boolean {
  const plain = (address: string): string =>
    address.replace("localhost", "127.0.0.1").replace(/\/$/, "");
  return plain(a) === plain(b);
}

/** Creates a model for the AI SDK. Only the library of the provider is loaded. */
export async function openModel(provider: Provider, model: string): Promise<LanguageModel> {
  const { baseUrl: baseURL, key, headers } = provider;
  const options = { baseURL, ...(headers === undefined ? {} : { headers }) };
  // Without a key, the libraries would look for one in the environment.
  const apiKey = key ?? "none";
  switch (provider.type) {
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ ...options, apiKey })(model);
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ ...options, apiKey })(model);
    }
    case "google": {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      return createGoogleGenerativeAI({ ...options, apiKey })(model);
    }
    case "openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const own = key === undefined ? {} : { apiKey: key };
      return createOpenAICompatible({ name: provider.id, includeUsage: true, ...options, ...own })(
        model,
      );
    }
  }
}
