import { loginLinkFor, pairingLinkFor } from "../../server/http/local-gateway.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { print } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { openPage } from "../shell/open-page.ts";

type OpenValues = OptionValues<never, "print" | "qr">;

/** `trunkline open` */
export async function run(invocation: Invocation<OpenValues>): Promise<number> {
  const { values, env, err } = invocation;
  const { config } = await openQuietApp(invocation);
  if (values.qr === true) return await pair(invocation, config.data);
  const url = await loginLinkFor(config.data);
  print(invocation, { url }, `${url}\n`);
  if (values.print === true || values.json === true) return 0;
  if (!(await openPage(url, env))) {
    err("Open this link in a browser. It works once, within 15 minutes.\n");
  }
  return 0;
}

/** Draws a link that pairs a phone. */
async function pair(invocation: Invocation<OpenValues>, data: string): Promise<number> {
  const url = await pairingLinkFor(data);
  const { renderUnicodeCompact } = await import("uqr");
  const notes = ["Point the phone's camera at it. The link works once, within 15 minutes."];
  if (url.startsWith("http:")) {
    notes.push(
      "It is not encrypted, so use it in a network that you trust. Push notifications need https.",
    );
  }
  const text = `${renderUnicodeCompact(url, { border: 2 })}\n${url}\n`;
  return print(invocation, { url }, text, { notes });
}
