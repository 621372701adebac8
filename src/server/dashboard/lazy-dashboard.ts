import { diskWords, TrunklineError } from "../../base/errors.ts";
import { Lazy } from "../../base/lazy.ts";
import { maskText } from "../../base/text/mask.ts";
import { fail, type HandleRequest, refuseMethod } from "../http/http-answers.ts";
import type { DashboardOptions } from "./dashboard.ts";

export const API = "/api/";
export const ASSETS = "/assets/";

export interface LazyDashboardOptions extends Omit<DashboardOptions, "holder"> {
  readonly holder: () => Promise<string>;
}

/** The dashboard, loaded with the first request for it. */
export function lazyDashboard(options: LazyDashboardOptions) {
  const dashboard = new Lazy(async () => {
    const { openDashboard } = await import("./dashboard.ts");
    return openDashboard({ ...options, holder: await options.holder() });
  });
  const files = new Lazy(async () => {
    const { loadWebFiles } = await import("./web-files.ts");
    return loadWebFiles();
  });
  const handle: HandleRequest = (path, request, response, principal) => {
    const isApi = path.startsWith(API);
    if (!isApi && request.method !== "GET" && request.method !== "HEAD") {
      return refuseMethod(response, path, "GET, HEAD");
    }
    const answered = isApi
      ? dashboard.get().then((it) => it.handle(path, request, response, principal))
      : files.get().then((it) => it.send(path, request, response));
    answered.catch((error: unknown) => {
      options.app.log.error("dashboard.not-opened", { error });
      if (response.headersSent) return;
      const words = error instanceof TrunklineError ? error.message : diskWords(error);
      const why = words === undefined ? "see its log" : maskText(words);
      fail(response, 503, `The dashboard cannot be opened: ${why}`);
    });
    return undefined;
  };

  return {
    handle,
    has: (path: string): boolean => path === "/" || path.startsWith(API) || path.startsWith(ASSETS),
    /** Reads the files of the page, before an upgrade of the package replaces them. */
    prepare: () => files.get(),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await (await dashboard.opened())?.[Symbol.asyncDispose]();
    },
  };
}
