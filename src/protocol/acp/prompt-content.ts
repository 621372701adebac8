import { STANDARD } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { ContentBlock } from "../../session/agent.ts";

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource_link: ["uri", "name"],
  resource: [],
};

/** ACP message specification § Content Validation: what a prompt may contain. */
export function checkPrompt(prompt: readonly ContentBlock[]): void {
  for (const [index, block] of prompt.entries()) {
    const at = `params.prompt[${index}]`;
    const required = Object.hasOwn(REQUIRED, block.type) ? REQUIRED[block.type] : undefined;
    if (required === undefined) {
      throw wrong(`'${at}.type' must be one of: ${Object.keys(REQUIRED).join(", ")}`);
    }
    for (const key of required) {
      if (typeof block[key] !== "string") throw wrong(`'${at}.${key}' must be a string`);
    }
    if (block.type === "image" || block.type === "audio") checkData(block.data, `${at}.data`);
    if (block.type === "resource") checkResource(block.resource, `${at}.resource`);
    if (block.type === "text" && String(block.text).includes("\0")) {
      throw wrong(`'${at}.text' must not contain null bytes`);
    }
  }
}

/** RFC 4648 § 4: a model's provider would refuse the whole conversation, now and later. */
function checkData(data: unknown, at: string): void {
  const text = String(data);
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)) return;
  const next = text.startsWith("data:") ? ": leave out the part up to the comma" : "";
  throw wrong(`'${at}' must be base64 with padding${next}`);
}

/** Bytes of a prompt that are images, which its limit of size does not count. */
export function imageBytes(params: unknown): number {
  const { prompt } = (params ?? {}) as { prompt?: unknown };
  if (!Array.isArray(prompt)) return 0;
  return (prompt as (Partial<ContentBlock> | null)[]).reduce((sum, block) => {
    const { type, data } = block ?? {};
    return type === "image" && typeof data === "string" ? sum + data.length : sum;
  }, 0);
}

function checkResource(resource: unknown, at: string): void {
  const { uri, text, blob } = (resource ?? {}) as Record<string, unknown>;
  if (typeof uri !== "string") throw wrong(`'${at}.uri' must be a string`);
  if (typeof text !== "string" && typeof blob !== "string") {
    throw wrong(`'${at}' must have a text or a blob`);
  }
  if (typeof text !== "string") checkData(blob, `${at}.blob`);
  else if (text.includes("\0")) {
    throw wrong(`'${at}.text' must not contain null bytes`);
  }
}

function wrong(what: string): RpcError {
  return RpcError.of(STANDARD.invalidParams, what);
}
