import { request, RequestError } from "./request.ts";

/** "absent": this browser has no push messages here, such as on a page without https. */
export type PushState = "on" | "off" | "absent";

/** The parts of the browser that push messages need. */
export interface PushBrowser {
  readonly serviceWorker: Pick<ServiceWorkerContainer, "register" | "ready" | "getRegistration">;
  readonly askPermission: () => Promise<NotificationPermission>;
}

/** Undefined where the browser has no push messages. */
export function pushBrowser(): PushBrowser | undefined {
  if (!("serviceWorker" in navigator) || !("PushManager" in globalThis)) return undefined;
  const { serviceWorker } = navigator;
  return { serviceWorker, askPermission: () => Notification.requestPermission() };
}

export async function pushState(browser: PushBrowser | undefined): Promise<PushState> {
  if (browser === undefined) return "absent";
  const registered = await browser.serviceWorker.getRegistration("/");
  const subscription = await registered?.pushManager.getSubscription();
  return subscription === null || subscription === undefined ? "off" : "on";
}

/** Subscribes this browser. Throws `RequestError` where the person, the browser or the gateway refuses. */
export async function switchPushOn({ serviceWorker, askPermission }: PushBrowser): Promise<void> {
  if ((await askPermission()) !== "granted") {
    throw refusal("this page may not show any. Allow it in the settings of the browser");
  }
  const { key } = await request<{ key: string }>("GET", "/push/key");
  await serviceWorker.register("/push/worker.js", { scope: "/" });
  let subscription: PushSubscription;
  try {
    // Not the registration just made: subscribing needs one with an active worker.
    const registered = await serviceWorker.ready;
    const options = { userVisibleOnly: true, applicationServerKey: key };
    subscription = await registered.pushManager.subscribe(options);
  } catch (error) {
    throw refusal(`the browser says: ${(error as Error).message}`);
  }
  await request("POST", "/push/subscribe", subscription.toJSON());
}

/** Unsubscribes at the gateway first, so that a message that is on its way is still shown. */
export async function switchPushOff({ serviceWorker }: PushBrowser): Promise<void> {
  const registered = await serviceWorker.getRegistration("/");
  const subscription = await registered?.pushManager.getSubscription();
  if (subscription === null || subscription === undefined) return;
  await request("DELETE", "/push/subscribe", { endpoint: subscription.endpoint });
  await subscription.unsubscribe();
}

function refusal(why: string): RequestError {
  return new RequestError(0, `Notifications cannot be switched on: ${why}.`);
}
