import { visible } from "../../base/text/visible.ts";

/** The first line that says something. */
export function firstLine(text: string): string {
  const line = text.split("\n").find((each) => each.trim() !== "") ?? "";
  return visible(line.trim()).replaceAll("\t", " ");
}
