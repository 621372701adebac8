import type { Tool } from "../tool.ts";

/** The name that stands for a server where a tool, prompt or resource is our own. */
export const OWN_SERVER = "trunkline";

/** The server that a tool is of, or the plugin that brings it. */
export function serverOf({ source, bringer = OWN_SERVER }: Tool): string {
  return source?.server ?? bringer;
}
