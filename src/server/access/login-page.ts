import { page } from "../http/page.ts";

/** Where people log in to servers as themselves, and where issuers send their browsers back to. */
export const LOGINS_PATH = "/logins";
export const COMEBACK_PATH = `${LOGINS_PATH}/callback`;

/**
 * The page posts the parameters that a browser brings back, so that the request comes from our own origin and
 * has the cookie. Viewing the page changes nothing, whoever has sent the browser here.
 */
const SCRIPT = `
const at = (id) => document.getElementById(id);
const base = location.pathname.replace(/\\/callback$/, "");
const wanted = decodeURIComponent(location.hash.slice(1));
const make = (tag, text, act) => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (act) made.addEventListener("click", () => act().catch((error) => say(error.message)));
  return made;
};
const say = (text) => { at("says").textContent = text; };
const post = async (path, body = {}, token) => {
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = "Bearer " + token;
  const answer = await fetch(base + "/" + path, { method: "POST", headers, body: JSON.stringify(body) });
  const value = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.error), value);
  return value;
};
const go = async (path, body) => {
  say("Opening the login page …");
  const { link } = await post(path, body);
  if (/^https?:/.test(link)) location.assign(link);
};
const show = async (first, done) => {
  const { who, servers } = await post("list").catch((error) => {
    if (error.issuers === undefined) throw error;
    say("Who are you? If the gateway is yours, run \`trunkline open\` and come back here. Else log in with your access token for it" + (error.issuers.length > 0 ? ", or at:" : "."));
    at("enter").hidden = false;
    at("list").replaceChildren(...error.issuers.map((name, index) => {
      const row = make("li", "");
      row.append(make("button", name, () => go("sign-in", { index, server: first })));
      return row;
    }));
    return {};
  });
  if (servers === undefined) return;
  at("enter").hidden = true;
  say((done ?? "") + " You are " + who + ". These servers know you by your own login:");
  const order = servers.toSorted((one, other) => (other.name === first) - (one.name === first));
  at("list").replaceChildren(...order.map(({ name, state, isIn }) => {
    const row = make("li", name + " (" + state + ") ");
    row.append(make("button", isIn ? "Log in again" : "Log in", () => go("begin", { server: name })));
    if (isIn) row.append(" ", make("button", "Log out", async () => {
      await post("end", { server: name });
      await show(first, "Logged out of " + name + ".");
    }));
    return row;
  }));
};
at("enter").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await post("enter", {}, at("token").value);
    await show(wanted);
  } catch (error) { say(error.message); }
});
const begin = async () => {
  if (base === location.pathname) return show(wanted);
  const { search } = location;
  history.replaceState(null, "", base);
  say("Finishing the login …");
  const { server, done } = await post("finish", { search });
  await show(server, done);
};
begin().catch((error) => say(error.message));
`;

export const LOGINS_PAGE = page(
  `<h1>Trunkline</h1>
<p id="says" role="status">Looking who you are …</p>
<form id="enter" hidden><label>Access token <input id="token" type="password" autocomplete="current-password" required></label> <button>Go on</button></form>
<ul id="list"></ul>
<noscript>This page needs JavaScript, to hand over what it gets.</noscript>`,
  SCRIPT,
);
