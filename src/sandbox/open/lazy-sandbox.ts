import type { CommandSandboxOpener } from "../../agent/files/command-sandbox.ts";
import { Lazy } from "../../base/lazy.ts";
import type { AppContext } from "../../config/app-context.ts";

/** Loads the code of the sandbox with the first command: most sessions run none at first. */
export function lazySandbox(app: AppContext, env = process.env): CommandSandboxOpener {
  return (folders) => {
    const sandbox = new Lazy(async () => {
      const { openLocalSandbox } = await import("./local-sandbox.ts");
      return openLocalSandbox(app, folders, env);
    });
    return {
      mayBeLeft: app.config.agent.sandbox !== "on",
      isThere: async () => (await sandbox.get()).isThere(),
      enter: async (ask) => (await sandbox.get()).enter(ask),
      [Symbol.asyncDispose]: async () => (await sandbox.opened())?.[Symbol.asyncDispose](),
    };
  };
}
