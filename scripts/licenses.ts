import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Comments at the head of a file. */
const HEAD = /^(?:\s*(?:\/\/[^\n]*\n|\/\*[\s\S]*?\*\/))+/;

interface Package {
  readonly name: string;
  readonly files: readonly string[];
  readonly license: string | undefined;
  readonly repository: string | undefined;
  /** The text of its licence file. */
  readonly text: string | undefined;
}

/** The licence texts of bundled packages, which must be distributed with their code. */
export async function licenses(root: string, inputs: readonly string[]): Promise<string> {
  const found = Map.groupBy(new Set(inputs), packageOf);
  const names = [...found.keys()].filter((name) => name !== undefined).toSorted();
  const packages = await Promise.all(
    names.map((name) => describe(root, name, found.get(name) ?? [])),
  );
  const texts = await Promise.all(packages.map((each) => licenseOf(root, each, packages)));
  // Packages that have the same text share it.
  const sharing = Map.groupBy(packages, (_, at) => texts[at] ?? "");
  const parts = Array.from(sharing, ([text, each]) => {
    const heads = each.map(({ name }) => `${name}\n${"=".repeat(name.length)}\n`);
    return `${heads.join("\n")}\n${text}\n`;
  });
  return parts.join("\n");
}

function packageOf(input: string): string | undefined {
  return /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

async function describe(root: string, name: string, files: readonly string[]): Promise<Package> {
  const folder = join(root, "node_modules", name);
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? undefined : await readFile(join(folder, file), "utf8");
  const { license, repository } = JSON.parse(
    await readFile(join(folder, "package.json"), "utf8"),
  ) as { license?: string; repository?: { readonly url?: string } | string };
  const url = typeof repository === "string" ? repository : repository?.url;
  return { name, files, text, license, repository: url };
}

async function licenseOf(root: string, one: Package, all: readonly Package[]): Promise<string> {
  const { name, files, license, repository, text } = one;
  if (text !== undefined) return text;
  const notices = await noticesIn(files.map((input) => join(root, input)));
  if (license !== undefined && notices.length > 0) {
    return [`License: ${license}`, ...notices].join("\n\n");
  }
  // Packages of one repository are published together, and not all include the text.
  const sibling = all.find(
    (each) =>
      each.text !== undefined &&
      each.license === license &&
      each.repository !== undefined &&
      each.repository === repository,
  );
  if (sibling?.text !== undefined) return sibling.text;
  throw new Error(
    `Cannot bundle ${name}: it has no licence file, and its sources state no licence`,
  );
}

/** Copyright and licence statements in the files of a package. */
async function noticesIn(paths: readonly string[]): Promise<string[]> {
  const heads = paths.map(async (path) => HEAD.exec(await readFile(path, "utf8"))?.[0] ?? "");
  const notices = (await Promise.all(heads)).filter((head) => /copyright/i.test(head));
  return [...new Set(notices.map((notice) => notice.trim()))];
}
