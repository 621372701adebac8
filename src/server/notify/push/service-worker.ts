/**
 * The service worker of the dashboard, which shows push messages. It is served as `/push/worker.js`.
 *
 * A notification has two buttons at most, so those that allow and refuse once are shown. A button sends
 * the POST that answers; a click elsewhere opens the session.
 */
export const SERVICE_WORKER = `"use strict";
const SHOWN = ["allow_once", "reject_once"];

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  let message = { title: "Trunkline" };
  try {
    message = { ...message, ...event.data.json() };
  } catch {
    // A push without readable data: a browser that shows nothing for it would withdraw the permission.
  }
  const { title, detail = {} } = message;
  event.waitUntil(show(message, detail.title || title, detail.words || (detail.title ? title : "")));
});

function show(message, title, body, tag = message.id) {
  const { answers = [], reason } = message;
  const shown = answers.filter(({ kind }) => SHOWN.includes(kind));
  return self.registration.showNotification(title, {
    body,
    tag,
    data: message,
    requireInteraction: reason === "permission" || reason === "question",
    actions: shown.map(({ kind, label }) => ({ action: kind, title: label })),
  });
}

async function answer(message, kind) {
  // Another tag: the browser may still be closing the notification that was clicked, by its tag.
  const tag = message.id + " " + Date.now();
  const { url } = message.answers.find((one) => one.kind === kind);
  const { pathname } = new URL(url);
  try {
    // The page may be reached by another name than the link has.
    const response = await fetch(pathname, { method: "POST" });
    if (response.ok) return;
    const { error = "The gateway does not answer." } = await response.json().catch(() => ({}));
    await show({ ...message, answers: [] }, "Not answered", error, tag);
  } catch {
    // The buttons are shown again: once the gateway can be reached, they answer.
    await show(message, "Not answered", "The gateway cannot be reached. Try again later.", tag);
  }
}

async function open(message) {
  const hash = message.link ? new URL(message.link).hash : "";
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const [first] = windows;
  const address = "/" + hash;
  if (first === undefined) return self.clients.openWindow(address);
  // A browser may refuse to bring its window to the front. The session is opened all the same.
  await first.focus().catch(() => {});
  // A page from before the worker does not obey it.
  return first.navigate(address).catch(() => self.clients.openWindow(address));
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { data } = event.notification;
  event.waitUntil(event.action ? answer(data, event.action) : open(data));
});
`;
