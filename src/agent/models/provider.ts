import type { LanguageModel } from "ai";

/** How a provider is spoken to. */
export type ProviderType = "anthropic" | "openai" | "google" | "openai-compatible";

/** Somebody who runs language models. */
export interface Provider {
  /** The first part of its models' ids. */
  readonly id: string;
  readonly name: string;
  readonly type: ProviderType;
  readonly baseUrl: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Models that are offered whether it lists them or not. */
  readonly models?: readonly string[];
  /** Tokens, where it does not say so itself. */
  readonly contextWindow?: number;
  /**
   * Nobody named it: it may be whatever listens on a port of this machine. It is offered if it
   * answers, and used only where somebody chooses it.
   */
  readonly isLocal?: boolean;
}

/** The `models` section of the configuration. */
export interface ModelSettings {
  readonly default?: string;
  readonly local?: boolean;
  readonly maxSteps?: number;
  readonly toolTimeout?: number;
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
}

export interface ProviderSettings {
  readonly type?: ProviderType;
  readonly baseUrl?: string;
  /** Name of the variable that holds its key. */
  readonly keyVariable?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly models?: readonly string[];
  readonly contextWindow?: number;
}

/** Finds a secret by the name of its variable. */
export type FindKey = (variable: string) => string | undefined;

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

/** The variables that keys are looked for under. */
export function keyVariables({ providers = {} }: ModelSettings = {}): string[] {
  const named = Object.values(providers).flatMap(({ keyVariable }) => keyVariable ?? []);
  return [...new Set([...Object.values(VARIABLE), ...named])];
}

/** A port on this machine that programs with models usually listen on: id, name, port. */
export type LocalPort = readonly [string, string, number];

const LOCAL: readonly LocalPort[] = [
  ["ollama", "Ollama", 11434],
  ["lmstudio", "LM Studio", 1234],
  ["llamacpp", "llama.cpp", 8080],
];

/** The providers that there may be: by keys, by configuration, and on this machine. */
export function providersOf(
  find: FindKey,
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
  return [...found.values()];
}

function byKeys(find: FindKey): Provider[] {
  const found: Provider[] = [];
  const anthropic = find("ANTHROPIC_API_KEY");
  if (anthropic !== undefined) {
    const baseUrl = find("ANTHROPIC_BASE_URL") ?? ADDRESS.anthropic;
    found.push({ id: "anthropic", name: "Anthropic", type: "anthropic", baseUrl, key: anthropic });
  }
  const openai = find("OPENAI_API_KEY");
  const address = find("OPENAI_BASE_URL");
  // Behind another address is mostly a server that speaks only what all of them speak.
  const isOther = address !== undefined && !address.startsWith("https://api.openai.com/");
  if (openai !== undefined || isOther) {
    found.push({
      id: "openai",
      name: isOther ? `OpenAI-compatible (${hostOf(address)})` : "OpenAI",
      type: isOther ? "openai-compatible" : "openai",
      baseUrl: address ?? ADDRESS.openai,
      ...(openai === undefined ? {} : { key: openai }),
    });
  }
  const google = find("GOOGLE_GENERATIVE_AI_API_KEY");
  if (google !== undefined) {
    found.push({
      id: "google",
      name: "Google",
      type: "google",
      baseUrl: ADDRESS.google,
      key: google,
    });
  }
  return found;
}

function configuredOne(id: string, settings: ProviderSettings, find: FindKey): Provider {
  const { type = "openai-compatible", keyVariable = VARIABLE[type], headers } = settings;
  const key = keyVariable === undefined ? undefined : find(keyVariable);
  return {
    id,
    name: id,
    type,
    baseUrl: settings.baseUrl ?? ADDRESS[type],
    ...(key === undefined ? {} : { key }),
    ...(headers === undefined ? {} : { headers }),
    ...(settings.models === undefined ? {} : { models: settings.models }),
    ...(settings.contextWindow === undefined ? {} : { contextWindow: settings.contextWindow }),
  };
}

function hostOf(address: string): string {
  return URL.parse(address)?.host ?? "?";
}

function sameAddress(a: string, b: string): boolean {
  const plain = (address: string): string =>
    address.replace("localhost", "127.0.0.1").replace(/\/$/, "");
  return plain(a) === plain(b);
}

/** Makes a model that can be spoken to. Only what the provider needs is loaded. */
export async function openModel(provider: Provider, model: string): Promise<LanguageModel> {
  const { baseUrl: baseURL, key, headers } = provider;
  const options = { baseURL, ...(headers === undefined ? {} : { headers }) };
  // Without one, the libraries would look for a key themselves.
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
