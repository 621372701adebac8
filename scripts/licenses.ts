import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The licence texts of the packages among bundled files, which must travel with their code. */
export async function licenses(root: string, inputs: readonly string[]): Promise<string> {
  const names = new Set(inputs.flatMap((input) => packageOf(input) ?? []));
  const texts = [...names].toSorted().map(async (name) => {
    return `${name}\n${"=".repeat(name.length)}\n\n${await licenseOf(root, name)}\n`;
  });
  return (await Promise.all(texts)).join("\n");
}

function packageOf(input: string): string | undefined {
  return /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

async function licenseOf(root: string, name: string): Promise<string> {
  const folder = join(root, "node_modules", name);
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`Cannot bundle ${name}: it has no licence file`);
  return await readFile(join(folder, file), "utf8");
}
