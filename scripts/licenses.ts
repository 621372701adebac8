import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Comments at the head of a file. */
const HEAD = /^(?:\s*(?:\/\/[^\n]*\n|\/\*[\s\S]*?\*\/))+/;

/** The licence texts of the packages among bundled files, which must travel with their code. */
export async function licenses(root: string, inputs: readonly string[]): Promise<string> {
  const packages = Map.groupBy(new Set(inputs), packageOf);
  const texts = [...packages]
    .flatMap(([name, files]) => (name === undefined ? [] : [{ name, files }]))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(async ({ name, files }) => {
      return `${name}\n${"=".repeat(name.length)}\n\n${await licenseOf(root, name, files)}\n`;
    });
  return (await Promise.all(texts)).join("\n");
}

function packageOf(input: string): string | undefined {
  return /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

async function licenseOf(root: string, name: string, files: readonly string[]): Promise<string> {
  const folder = join(root, "node_modules", name);
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (file !== undefined) return await readFile(join(folder, file), "utf8");
  const manifest = await readFile(join(folder, "package.json"), "utf8");
  const { license } = JSON.parse(manifest) as { license?: string };
  const notices = await noticesIn(files.map((input) => join(root, input)));
  if (license === undefined || notices.length === 0) {
    throw new Error(`Cannot bundle ${name}: it has no licence file, and says nothing of its own`);
  }
  return [`License: ${license}`, ...notices].join("\n\n");
}

/** What the files of a package say themselves of who wrote them and what is allowed. */
async function noticesIn(paths: readonly string[]): Promise<string[]> {
  const heads = paths.map(async (path) => HEAD.exec(await readFile(path, "utf8"))?.[0] ?? "");
  const notices = (await Promise.all(heads)).filter((head) => /copyright/i.test(head));
  return [...new Set(notices.map((notice) => notice.trim()))];
}
