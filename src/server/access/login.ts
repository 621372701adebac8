import type { IncomingMessage, ServerResponse } from "node:http";

import { background } from "../../base/background.ts";
import { diskWords, TrunklineError } from "../../base/errors.ts";
import { fail, readJson, sendJson } from "../http/http-answers.ts";
import { page } from "../http/page.ts";
import type { Admission } from "./admission.ts";

/** Bytes of a body; a code is far shorter. */
const LARGEST = 1024;

/** The page for a browser that is not logged in. */
export const WELCOME = page(`<h1>Trunkline</h1>
<p>This gateway asks everybody who they are. To let this browser in, run this on the machine that
the gateway runs on:</p>
<pre>trunkline open</pre>
<p>It prints a link that works once, and opens it. Programs send a token with each request
(<code>Authorization: Bearer …</code>): the owner's is in the file that <code>trunkline serve</code>
names, and <code>trunkline token create</code> makes others.</p>`);

/** Whether a browser asks for a page, not a program for data. */
export function isForPerson({ method, headers: { accept = "" } }: IncomingMessage): boolean {
  return method === "GET" && !accept.startsWith("application/json");
}

/**
 * The code is in the fragment of the link, which browsers do not send: the page posts it. After the code may
 * stand the page of the dashboard to go to, such as `CODE/sessions/ID`.
 */
const SCRIPT = `
const says = document.getElementById("says");
const [code, ...page] = location.hash.slice(1).split("/");
history.replaceState(null, "", location.pathname);
const show = (text) => { says.textContent = text; };
if (code === "") show("This link has no code. Get one with: trunkline open");
else fetch("login", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ code }),
}).then(async (answer) => {
  if (answer.ok) location.replace("./" + (page.length > 0 ? "#/" + page.join("/") : ""));
  else show((await answer.json()).error);
}).catch(() => show("The gateway does not answer. Is it still running?"));
`;

const LOGIN = page(
  `<h1>Trunkline</h1>\n<p id="says">Letting this browser in …</p>\n<noscript>This page needs JavaScript, to hand over the code in its address.</noscript>`,
  SCRIPT,
);

/** `/login` with a link that works once, and `/logout`. */
export function loginPages({ codes, logins }: Pick<Admission, "codes" | "logins">) {
  async function logOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const cookie = await logins.end(request);
      sendJson(response, { ok: true }, { "set-cookie": cookie });
    } catch (error) {
      fail(response, 503, `Cannot log out: ${wordsOf(error)}`);
    }
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { code } = await readJson(request, LARGEST).catch(() => ({ code: undefined }));
    if (typeof code !== "string" || code === "") return fail(response, 400, `Send {"code": "…"}`);
    // Other users of the machine can read the link in the browser's command line.
    if (logins.isFromOther(request)) {
      return fail(response, 403, "This link is for the user who runs the gateway");
    }
    try {
      const taken = await codes.take(code);
      if (taken !== undefined) {
        const cookie = await logins.begin(request, taken.isPairing);
        return sendJson(response, { ok: true }, { "set-cookie": cookie });
      }
      const why = "This link has been used, or is too old. Get another with: trunkline open";
      return fail(response, 401, why);
    } catch (error) {
      // The code may be used up by now.
      const next = "Get another link with: trunkline open";
      return fail(response, 503, `Cannot let this browser in: ${wordsOf(error)} ${next}`);
    }
  }

  return {
    /** Whether the path is one of these. */
    has: (path: string) => path === "/login" || path === "/logout",
    handle(path: string, request: IncomingMessage, response: ServerResponse): void {
      if (path === "/login" && request.method === "GET") return LOGIN.send(response, 200);
      if (request.method !== "POST") {
        response.setHeader("allow", path === "/login" ? "GET, POST" : "POST");
        return fail(response, 405, `${path} does not support this method`);
      }
      if (path === "/logout") {
        return background(logOut(request, response), "Logging a browser out");
      }
      return background(take(request, response), "Taking a code");
    },
  };
}

/** Why it failed, as a sentence. */
function wordsOf(error: unknown): string {
  const words = error instanceof TrunklineError ? error.message : diskWords(error);
  return `${(words ?? "it failed").replace(/\.$/, "")}.`;
}
