export function startWithNewerNode(program: string, args: readonly string[]): void;
export function findNode(folder: string, env: NodeJS.ProcessEnv): string | undefined;
