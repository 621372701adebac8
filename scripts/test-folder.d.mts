export function testFolder(
  env: Readonly<Record<string, string | undefined>>,
  machine?: { readonly folder?: string; readonly mounts?: string },
): string | undefined;
