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
root.replaceChildren();
render(<App />, root);
begin().catch((error: unknown) => reportError(error));
