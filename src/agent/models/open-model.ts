import type { LanguageModel } from "ai";

import type { Provider } from "./provider.ts";

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
