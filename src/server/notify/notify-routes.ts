import type { IncomingMessage, ServerResponse } from "node:http";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Lazy } from "../../base/lazy.ts";
import { OWNER } from "../../base/principal.ts";
import { openNotifyStore } from "../../store/notify/notify-store.ts";
import type { AdmittedCaller } from "../access/access.ts";
import type { Admission } from "../access/admission.ts";
import { deviceName } from "../access/device-name.ts";
import { fail, failWith, readJson, send, sendJson } from "../http/http-answers.ts";
import { page } from "../http/page.ts";
import type { AnswerParams } from "../../protocol/acp/schema.gen.ts";
import type { AppContext } from "../../config/app-context.ts";
import { readEntries } from "./entries.ts";
import { notifySecrets } from "./notify-secrets.ts";
import { readPushKeys } from "./push/encrypt-push.ts";
import { readEndpoint } from "./push/push-hosts.ts";
import { SERVICE_WORKER } from "./push/service-worker.ts";
import { ANSWER_PATH } from "./session-address.ts";

/** Answers a permission request, in whatever process its session is open. */
type AnswerRequest = (
  of: string,
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<void>;
type AnswerPermission = (answer: AnswerParams, by: string) => Promise<void>;

/**
 * The routes of notifications.
 *
 * For the dashboard, with its cookie (only the owner's devices are notified):
 *
 * - `GET /push/key` → `{ key }`, the `applicationServerKey` for `pushManager.subscribe()`
 * - `POST /push/subscribe` with `PushSubscription.toJSON()` → `{ id }`
 * - `DELETE /push/subscribe` with `{ endpoint }` → `{ removed }`
 * - `GET /push/worker.js`: `navigator.serviceWorker.register("/push/worker.js", { scope: "/" })`
 *
 * For whoever was notified: `POST /answer/TOKEN` answers a permission request. A GET shows a button, since
 * programs that preview links get them.
 */
export function notifyRoutes(app: AppContext, admission: Admission, answerBy: AnswerPermission) {
  const { data, notifications } = app.config;
  const configFile = app.reloading?.files[0];
  const secrets = notifySecrets({ data, configFile, env: process.env });
  const store = new Lazy(() => openNotifyStore(data));

  function handle(path: string, request: IncomingMessage, response: ServerResponse): void {
    const answered = path.startsWith(ANSWER_PATH)
      ? answer(path.slice(ANSWER_PATH.length), request, response)
      : push(path, request, response);
    background(
      answered.catch((error: unknown) => failWith(response, error, path, app.log)),
      "Answering a request about notifications",
    );
  }

  const answer: AnswerRequest = async (token, request, response) => {
    if (request.method === "GET" || request.method === "HEAD") return ANSWER.send(response, 200);
    if (request.method !== "POST") return refuseMethod(response, "GET, POST");
    const { links } = await store.get();
    const linked = TOKEN.test(token) ? await links.find(token) : undefined;
    if (linked === undefined) {
      const why = "This link is not valid: the request was answered, or the link is too old";
      return fail(response, 410, why);
    }
    await answerBy(linked, BY_LINK);
    try {
      await links.close(linked.requestId);
    } catch (error) {
      // The answer counts all the same, and the session accepts no second one.
      app.log.warn("notify.link-not-closed", { error });
    }
    return sendJson(response, { ok: true });
  };

  const push: AnswerRequest = async (path, request, response) => {
    if (path === "/push/worker.js") return sendWorker(request, response);
    const found = await admission.admit(request, response, ENTRY);
    if (!("principal" in found)) return fail(response, found.status, found.message, found.headers);
    if (found.principal.id !== OWNER.id) {
      const why = "Only the owner's devices are notified. Log in with: trunkline open";
      return fail(response, 403, why);
    }
    if (path === "/push/key") {
      if (request.method !== "GET") return refuseMethod(response, "GET");
      const { publicKey: key } = await secrets.vapid();
      return sendJson(response, { key });
    }
    if (request.method === "POST") return await subscribe(request, response, found);
    if (request.method !== "DELETE") return refuseMethod(response, "POST, DELETE");
    const { endpoint } = await readJson(request, LARGEST);
    if (typeof endpoint !== "string") throw new TrunklineError("usage", `Send {"endpoint": "…"}`);
    const { devices } = await store.get();
    return sendJson(response, { removed: await devices.remove(endpoint) });
  };

  async function subscribe(
    request: IncomingMessage,
    response: ServerResponse,
    { proof }: AdmittedCaller,
  ): Promise<void> {
    const { endpoint, keys } = await readJson(request, LARGEST);
    const { p256dh, auth } = (keys ?? {}) as { readonly p256dh?: unknown; readonly auth?: unknown };
    if (typeof endpoint !== "string" || typeof p256dh !== "string" || typeof auth !== "string") {
      const form = `{"endpoint": "…", "keys": {"p256dh": "…", "auth": "…"}}`;
      throw new TrunklineError("usage", `Send ${form}`);
    }
    const { entries } = readEntries(notifications);
    const pushing = entries.filter(({ how }) => how.kind === "push");
    if (pushing.length === 0) {
      const next = 'Add {"push": true} to `notifications` of the configuration, and restart';
      throw new TrunklineError("usage", `Push notifications are not configured. ${next}.`);
    }
    readEndpoint(endpoint, pushing);
    readPushKeys({ p256dh, auth });
    // A device that is notified stays logged in, so that it can open the session and can be revoked.
    const cookie = await admission.logins.pair(request);
    const { devices } = await store.get();
    const name = deviceName(request.headers["user-agent"]);
    const id = await devices.add({ endpoint, p256dh, auth, name, proof: proof?.key ?? "" });
    return sendJson(response, { id }, cookie === undefined ? {} : { "set-cookie": cookie });
  }

  return {
    has: (path: string): boolean => PUSH_PATHS.has(path) || path.startsWith(ANSWER_PATH),
    handle,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      (await store.opened())?.[Symbol.dispose]();
    },
  };
}

/** Who has answered, as sessions and the audit show it. */
const BY_LINK = "notification link";

const PUSH_PATHS = new Set(["/push/key", "/push/subscribe", "/push/worker.js"]);
const ENTRY = { scopes: ["dashboard"], what: "/push" } as const;
const TOKEN = /^[\w-]{43}$/;
/** Bytes; a subscription is far shorter. */
const LARGEST = 16 * 1024;

const ANSWER = page(
  `<h1>Trunkline</h1>
<p id="says">An agent asks for permission. This link answers, once.</p>
<p><button id="answer" type="button">Answer</button></p>
<noscript>This page needs JavaScript, to send the answer.</noscript>`,
  `
const says = document.getElementById("says");
const button = document.getElementById("answer");
const names = {
  allow_once: "Allow", allow_always: "Always allow",
  reject_once: "Reject", reject_always: "Always reject",
};
button.textContent = names[location.hash.slice(1)] ?? "Answer";
button.addEventListener("click", async () => {
  button.remove();
  try {
    const answer = await fetch(location.pathname, { method: "POST" });
    says.textContent = answer.ok ? "Answered." : (await answer.json()).error;
  } catch {
    says.textContent = "The gateway does not answer. Is it still running?";
  }
});
`,
);

function sendWorker(request: IncomingMessage, response: ServerResponse): void {
  if (request.method !== "GET") return refuseMethod(response, "GET");
  return send(response, 200, "text/javascript; charset=utf-8", SERVICE_WORKER, {
    "service-worker-allowed": "/",
    "content-security-policy": "default-src 'none'; connect-src 'self'",
  });
}

function refuseMethod(response: ServerResponse, allow: string): void {
  fail(response, 405, `Use ${allow.replace(", ", " or ")} here`, { allow });
}
