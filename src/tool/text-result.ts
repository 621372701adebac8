import { UnparsedJson, unparsedText } from "../base/text/unparsed-json.ts";
import type { Content, ToolResult } from "./tool.ts";

/**
 * The result of another server's tool that consists of one text, as JSON that is not parsed: parsing it
 * and writing it again would cost more than the rest of the call. Only whoever says so in its context
 * (`takesUnparsed`) gets one. It has the members of a result, but a copy by `...` has no content and is
 * refused.
 */
export class TextResult extends UnparsedJson implements ToolResult {
  readonly [member: string]: unknown;
  readonly isError: boolean;

  /** `json` is valid. */
  constructor(json: string, isError: boolean) {
    super(json);
    this.isError = isError;
  }

  get content(): readonly Content[] {
    return (this.toJSON() as ToolResult).content;
  }
}

/** Whether what a tool returned is a result: tools of plugins and other servers are not typed. */
export function isToolResult(value: ToolResult | undefined): boolean {
  return unparsedText(value) !== undefined || Array.isArray(value?.content);
}
