/** The repository that a folder is in, by its top folder. Only a client with several roots needs it. */
export async function repositoryOf(folder: string): Promise<string | undefined> {
  const { findRepository } = await import("../review/repository.ts");
  return findRepository(folder)?.root;
}
