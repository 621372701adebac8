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
    if (block.type === "resource") checkResource(block.resource, `${at}.resource`);
    if (block.type === "text" && String(block.text).includes("\0")) {
      throw wrong(`'${at}.text' must not contain null bytes`);
    }
  }
}

function checkResource(resource: unknown, at: string): void {
  const { uri, text, blob } = (resource ?? {}) as Record<string, unknown>;
  if (typeof uri !== "string") throw wrong(`'${at}.uri' must be a string`);
  if (typeof text !== "string" && typeof blob !== "string") {
    throw wrong(`'${at}' must have a text or a blob`);
  }
  if (typeof text === "string" && text.includes("\0")) {
    throw wrong(`'${at}.text' must not contain null bytes`);
  }
}

function wrong(what: string): RpcError {
  return RpcError.of(STANDARD.invalidParams, what);
}
