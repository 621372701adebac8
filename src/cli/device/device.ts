import { visibleLine } from "../../base/text/visible.ts";
import { type Device, Devices } from "../../store/access/devices.ts";
import { OwnerToken } from "../../store/access/owner-token.ts";
import type { Invocation, Values } from "../shell/command.ts";
import { table } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";

interface DeviceValues extends Values {
  readonly json?: boolean;
}

/** `trunkline device list` */
export async function list(invocation: Invocation<DeviceValues>): Promise<number> {
  const { values, out, err } = invocation;
  const { data } = (await openQuietApp(invocation)).config;
  const { mark } = new OwnerToken(data);
  // A new token of the owner has logged out those that are still in the file.
  const devices = new Devices(data).list().filter((device) => device.mark === mark);
  if (values.json === true) out(`${JSON.stringify({ devices: devices.map(shownOf) }, null, 2)}\n`);
  else if (devices.length > 0) out(table([HEADINGS, ...devices.map(rowOf)]));
  else
    err("No browser is logged in. `trunkline open` logs one in, `trunkline open --qr` a phone.\n");
  return 0;
}

/** `trunkline device revoke DEVICE` */
export async function revoke(invocation: Invocation<DeviceValues>): Promise<number> {
  const { values, positionals, out } = invocation;
  const { data } = (await openQuietApp(invocation)).config;
  const device = await new Devices(data).remove(positionals[0] ?? "");
  if (values.json === true) out(`${JSON.stringify({ revoked: shownOf(device) }, null, 2)}\n`);
  else out(`Logged out '${visibleLine(device.name)}' (${device.id}).\n`);
  return 0;
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
