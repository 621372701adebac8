import { render } from "preact";

import { listenToKeys } from "./client/keyboard.ts";
import { followAddress } from "./client/router.ts";
import { begin } from "./client/state.ts";
import { App } from "./page/app.tsx";
import { storeDrafts } from "./start/start-draft.ts";

followAddress();
listenToKeys();
storeDrafts();
const root = document.getElementById("app");
if (root === null) throw new Error("The page has no #app");
// In another task than the one that has evaluated the scripts, so that neither is long.
setTimeout(() => {
  root.replaceChildren();
  render(<App />, root);
}, 0);
begin().catch((error: unknown) => reportError(error));
