import { canTalk, windowOf } from "./known-models.ts";
import type { Provider } from "./provider.ts";

/** A model as its provider describes it. */
export interface ListedModel {
  readonly model: string;
  readonly name: string;
  readonly contextWindow: number;
}

const MOST_BYTES = 4 * 1024 * 1024;
const MOST_MODELS = 500;

type Entry = Readonly<Record<string, unknown>>;

/** Asks a provider which models it has. Rejects when it does not answer in time, or with sense. */
export async function listModels(provider: Provider, signal: AbortSignal): Promise<ListedModel[]> {
  const response = await fetch(listAddress(provider), {
    headers: { accept: "application/json", ...authorization(provider), ...provider.headers },
    // A key goes to whom it is meant for, and to nobody else.
    redirect: "error",
    signal,
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`it answered with status ${response.status}`);
  }
  const body = JSON.parse(await boundedText(response)) as Entry | null;
  const entries = body?.data ?? body?.models;
  if (!Array.isArray(entries)) throw new Error("what it answered is no list of models");
  const isPicked = provider.type === "openai" || provider.type === "google";
  return entries
    .filter((entry): entry is Entry => typeof entry === "object" && entry !== null)
    .flatMap((entry) => describe(entry, provider))
    .filter(({ model }) => !isPicked || canTalk(model))
    .slice(0, MOST_MODELS);
}

function listAddress({ baseUrl, type }: Provider): string {
  const query = type === "anthropic" ? "?limit=100" : type === "google" ? "?pageSize=200" : "";
  return `${baseUrl.replace(/\/$/, "")}/models${query}`;
}

function authorization({ type, key }: Provider): Record<string, string> {
  if (type === "anthropic") {
    return {
      "anthropic-version": "2023-06-01",
      ...(key === undefined ? {} : { "x-api-key": key }),
    };
  }
  if (key === undefined) return {};
  return type === "google" ? { "x-goog-api-key": key } : { authorization: `Bearer ${key}` };
}

function describe(entry: Entry, provider: Provider): ListedModel[] {
  const { id, name, display_name: display, displayName, supportedGenerationMethods } = entry;
  const isUnfit =
    Array.isArray(supportedGenerationMethods) &&
    !supportedGenerationMethods.includes("generateContent");
  const model = provider.type === "google" ? String(name).replace(/^models\//, "") : id;
  if (typeof model !== "string" || model === "" || isUnfit) return [];
  const shown = display ?? displayName ?? model;
  const contextWindow =
    provider.contextWindow ?? saidWindow(entry) ?? windowOf(model, provider.isLocal === true);
  return [{ model, name: typeof shown === "string" ? shown : model, contextWindow }];
}

/** Each says it under a name of its own, if at all. */
function saidWindow(entry: Entry): number | undefined {
  const meta = (entry.meta ?? {}) as Entry;
  const said = [
    entry.context_length,
    entry.context_window,
    entry.max_context_length,
    entry.max_model_len,
    entry.max_input_tokens,
    entry.inputTokenLimit,
    meta.n_ctx,
    meta.n_ctx_train,
  ];
  return said.find((value): value is number => typeof value === "number" && value >= 1_024);
}

async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MOST_BYTES) throw new Error("its list of models has no end");
  }
  return text;
}
