import type { Project, RepositoryOf } from "../project.ts";

/** Of several folders, the one that is a repository. Two folders of one repository mean that one. */
export async function repositoryAmong(
  folders: readonly string[],
  repositoryOf: RepositoryOf,
): Promise<Project> {
  const source = "roots";
  const found = new Map<string, string[]>();
  for (const folder of folders) {
    const repository = await repositoryOf(folder);
    if (repository === undefined) continue;
    found.set(repository, [...(found.get(repository) ?? []), folder]);
  }
  const [only, ...others] = found;
  if (only === undefined) {
    const problem = `none of the client's roots is in a git repository: ${folders.join(", ")}`;
    return { folders, source, problem };
  }
  if (others.length > 0) {
    const problem = `the client has several roots: ${[...found.values()].flat().join(", ")}`;
    return { folders, source, problem };
  }
  const [repository, [one = repository, ...rest]] = only;
  return { folder: rest.length === 0 ? one : repository, folders, source };
}
