import { visibleLine } from "../../base/text/visible.ts";
import { type Device, Devices } from "../../store/access/devices.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import type { Invocation } from "../shell/command.ts";
import { print, printList } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";

/** `trunkline device list` */
export async function list(invocation: Invocation): Promise<number> {
  const { data } = (await openQuietApp(invocation)).config;
  const { mark } = new OwnerToken(data);
  // A new token of the owner has logged out those that are still in the file.
  const devices = new Devices(data).list().filter((device) => device.mark === mark);
  const none =
    "No browser is logged in. `trunkline open` logs one in, `trunkline open --qr` a phone.";
  const rows = [HEADINGS, ...devices.map(rowOf)];
  return printList(invocation, { devices: devices.map(shownOf) }, rows, none);
}

/** `trunkline device revoke DEVICE` */
export async function revoke(invocation: Invocation): Promise<number> {
  const { positionals } = invocation;
  const { data } = (await openQuietApp(invocation)).config;
  const device = await new Devices(data).remove(positionals[0] ?? "");
  return print(
    invocation,
    { revoked: shownOf(device) },
    `Logged out '${visibleLine(device.name)}' (${device.id}).\n`,
  );
}

const HEADINGS = ["ID", "NAME", "LOGGED IN", "LAST SEEN", "KIND"];

function rowOf({ id, name, created, lastSeen, isPaired }: Device): string[] {
  const kind = isPaired ? "paired" : "browser";
  return [id, visibleLine(name), timeOf(created), timeOf(lastSeen), kind];
}

/** A device as it is listed, without the hash of its cookie. */
function shownOf({ id, name, created, lastSeen, isPaired }: Device): object {
  return { id, name, created, lastSeen, isPaired };
}

function timeOf(iso: string): string {
  return iso.slice(0, 16).replace("T", " ");
}
