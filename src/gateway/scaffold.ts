import { scaffoldPlugin } from "../plugin/scaffold/scaffold.ts";

/** Begins a plugin in a folder. Resolves to what to do next, in words. */
export async function beginPlugin(folder: string, name: string): Promise<string> {
  return await scaffoldPlugin(folder, name);
}
